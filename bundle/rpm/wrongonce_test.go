package rpm

import (
	"context"
	"io"
	"path"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/httpclient"
)

// cache is a web whose proxy has a damaged copy of one file. It asks upstream again if a request demands it.
type cache struct {
	web
	damaged string // base name
	always  bool
	asked   map[string]int
}

func (c cache) Open(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	body, size, err := c.web.Open(ctx, url, offset)
	if err != nil || path.Base(url) != c.damaged {
		return body, size, err
	}
	if c.asked[url]++; httpclient.IsFresh(ctx) && !c.always {
		return body, size, nil
	}
	body.Close()
	return io.NopCloser(strings.NewReader("damaged")), 7, nil
}

// TestWrongOnce: metadata with wrong content is requested once more, past the caches.
func TestWrongOnce(t *testing.T) {
	const base = "https://a/x"
	for _, file := range []string{"repomd.xml", "repomd.xml.asc", "primary.xml.gz"} {
		for _, always := range []bool{false, true} {
			w := web{}
			r := w.publish(t, base, aKey(), pkg{nevra: "app-1-1.x86_64"})
			c := cache{w, file, always, map[string]int{}}
			_, err := Plan(t.Context(), c, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}})
			if (err != nil) != always || err != nil && !strings.Contains(err.Error(), base) {
				t.Errorf("%s, always %t: %v", file, always, err)
			}
			if n := c.asked[base+"/repodata/"+file]; n != 2 {
				t.Errorf("%s, always %t: %d requests", file, always, n)
			}
		}
	}
}
