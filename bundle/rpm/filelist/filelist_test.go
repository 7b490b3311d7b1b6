package filelist

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func list(t *testing.T, element string) ([]string, error) {
	t.Helper()
	var all []string
	err := Each([]byte(element), func(path []byte, kind Kind) { all = append(all, fmt.Sprintf("%s %d", path, kind)) })
	return all, err
}

// TestEach reads elements as createrepo and createrepo_c write them.
func TestEach(t *testing.T) {
	for name, c := range map[string]struct{ element, want string }{
		"files, directories, ghosts": {`<package pkgid="1" name="a" arch="noarch"><version epoch="0" ver="1" rel="1"/><file>/usr/bin/a</file>
  <file type="dir">/etc/a</file><file type='ghost'>/run/a.pid</file></package>`, "/usr/bin/a 0|/etc/a 1|/run/a.pid 2"},
		"white space in a tag":    {"<file\n type=\"dir\" >/a</file >", ""},
		"entities":                {"<file>/a&amp;b &lt;x&gt; &#39;&#x41;&quot;&apos;</file>", `/a&b <x> 'A"' 0`},
		"not ASCII":               {"<file>/usr/share/한글</file>", "/usr/share/한글 0"},
		"another type":            {`<file type="fifo">/a</file>`, "/a 0"},
		"empty":                   {"<package></package>", ""},
		"an empty file":           {"<file/><file></file><file>/a</file>", "/a 0"},
		"a path that is too long": {"<file>/" + strings.Repeat("a", maxPath) + "</file><file>/b</file>", "/b 0"},
	} {
		got, err := list(t, c.element)
		if name == "white space in a tag" {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	for _, damaged := range []string{"<file>/a", "<file", "<files>/a</files>", "<file>/a&nbsp;</file>", "<file>/a&amp</file>", "<file>/a<b></file>", "<file>&#0;</file>", "<file>&#x110000;</file>"} {
		if got, err := list(t, damaged); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %q, %v", damaged, got, err)
		}
	}
}

// TestMerged: /bin and /usr/bin are one directory.
func TestMerged(t *testing.T) {
	for path, want := range map[string]string{"/bin/sh": "/usr/bin/sh", "/sbin/ip": "/usr/sbin/ip",
		"/lib64/x": "/usr/lib64/x", "/lib/x": "/usr/lib/x", "/usr/bin/sh": "/usr/bin/sh", "/library/x": "/library/x", "/bin": "/bin",
	} {
		if got := Merged(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// TestMeets: only a pair with a file can conflict, and never with a ghost.
func TestMeets(t *testing.T) {
	for pair, want := range map[[2]Kind]bool{{File, File}: true, {File, Directory}: true, {Directory, Directory}: false, {File, Ghost}: false, {Directory, Ghost}: false, {Ghost, Ghost}: false} {
		if pair[0].Meets(pair[1]) != want || pair[1].Meets(pair[0]) != want {
			t.Errorf("%v: want %v", pair, want)
		}
	}
}

// TestConflict compares files as rpm does. A conflict is the same from both sides.
func TestConflict(t *testing.T) {
	file := Attributes{Mode: 0o100644, Size: 3, Algorithm: 8, Digest: "aa", User: "root", Group: "root"}
	change := func(of Attributes, f func(*Attributes)) Attributes { f(&of); return of }
	link := change(file, func(a *Attributes) { a.Mode, a.Link, a.Digest = 0o120777, "x", "" })
	lib := change(file, func(a *Attributes) { a.Color = 2 })
	dir := change(file, func(a *Attributes) { a.Mode, a.Digest, a.Size = 0o040755, "", 4096 })
	device := change(file, func(a *Attributes) { a.Mode, a.Device, a.Digest = 0o020600, 5, "" })
	other := change(file, func(a *Attributes) { a.Digest = "bb" })
	for name, c := range map[string]struct {
		a, b Attributes
		want string
	}{
		"identical":                    {file, file, ""},
		"contents":                     {file, other, "with different contents"},
		"sizes":                        {file, change(file, func(a *Attributes) { a.Size = 4 }), "with different contents"},
		"digests of two kinds":         {file, change(file, func(a *Attributes) { a.Algorithm = 0 }), "with different contents"},
		"MD5 without and with number":  {change(file, func(a *Attributes) { a.Algorithm = 0 }), change(file, func(a *Attributes) { a.Algorithm = 1 }), ""},
		"modes":                        {file, change(file, func(a *Attributes) { a.Mode = 0o100755 }), "with different modes"},
		"owners":                       {file, change(file, func(a *Attributes) { a.Group = "wheel" }), "with different owners"},
		"a ghost":                      {file, change(other, func(a *Attributes) { a.Flags = flagGhost }), ""},
		"configuration":                {change(file, func(a *Attributes) { a.Flags = 1 }), change(other, func(a *Attributes) { a.Flags = 1 }), "with different contents"},
		"links":                        {link, link, ""},
		"links with other modes":       {link, change(link, func(a *Attributes) { a.Mode = 0o120755 }), ""},
		"links to different files":     {link, change(link, func(a *Attributes) { a.Link = "y" }), "as links to different files"},
		"a file and a link":            {file, link, "of different kinds"},
		"a file and a directory":       {file, dir, "of different kinds"},
		"directories":                  {dir, change(dir, func(a *Attributes) { a.Size = 12 }), ""},
		"directories with other modes": {dir, change(dir, func(a *Attributes) { a.Mode = 0o040700 }), "with different modes"},
		"64-bit and 32-bit":            {lib, change(other, func(a *Attributes) { a.Color = 1 }), ""},
		"64-bit twice":                 {lib, change(lib, func(a *Attributes) { a.Digest = "bb" }), "with different contents"},
		"64-bit and a script":          {lib, other, "with different contents"},
		"devices":                      {device, change(device, func(a *Attributes) { a.Device = 6 }), "as different devices"},
		"one device":                   {device, device, ""},
	} {
		got, back := c.a.Conflict(c.b), c.b.Conflict(c.a)
		if (got == "") != (c.want == "") || (back == "") != (c.want == "") || !strings.HasPrefix(got, c.want) || !strings.HasPrefix(back, c.want) {
			t.Errorf("%s: %q, %q, want %q", name, got, back, c.want)
		}
	}
}

// FuzzEach: no element panics, and paths are never empty or too long.
func FuzzEach(f *testing.F) {
	f.Add([]byte(`<package><file type="dir">/a&amp;b</file><file>/c</file></package>`))
	f.Add([]byte("<file><file></file>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = Each(data, func(path []byte, _ Kind) {
			if len(path) == 0 || len(path) > maxPath {
				t.Errorf("a path of %d bytes", len(path))
			}
		})
	})
}
