package fetch

import "testing"

func TestIsPage(t *testing.T) {
	for name, tc := range map[string]struct {
		path, head string
		want       bool
	}{
		"a page":                             {"/index.yaml", "<!DOCTYPE html><html>", true},
		"after spaces and a byte order mark": {"/index.yaml", "\xEF\xBB\xBF\r\n  <HTML lang=\"ko\">", true},
		"XHTML":                              {"/repomd.xml", "<?xml version=\"1.0\"?>\n<!-- portal -->\n<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0//EN\">", true},
		"only a script":                      {"/x.tgz", "<script>location='https://login'</script>", true},
		"a requested page":                   {"/manual.html", "<!DOCTYPE html>", false},
		"metadata of packages":               {"/repomd.xml", "<?xml version=\"1.0\"?>\n<!-- made by createrepo -->\n<repomd>", false},
		"other XML":                          {"/x", "<htmlish>", false},
		"a gateway's JSON":                   {"/x.tgz", "{\"error\": \"login\"}", true},
		"a gateway's JSON for metadata":      {"/repodata/repomd.xml", "  {\"message\": \"login\"}", true},
		"JSON for a YAML path":               {"/index.yaml", "{\"entries\": {}}", false},
		"YAML":                               {"/index.yaml", "apiVersion: v1\n", false},
		"an archive":                         {"/x.tgz", "\x1f\x8b\x08", false},
		"nothing":                            {"/x.tgz", "", false},
		"an unterminated comment":            {"/x.xml", "<!-- <html>", false},
		"a page within a text":               {"/x.yaml", "a: '<html>'", false},
		"only an XML declaration":            {"/x.xml", "<?xml version='1.0'?>", false},
	} {
		if got := isPage(tc.path, []byte(tc.head)); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
