package registry

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// BenchmarkOpenToPullable measures the time from a bundle on disk until all its images can be pulled.
func BenchmarkOpenToPullable(b *testing.B) {
	f := bundletest.New(b)
	for b.Loop() {
		opened, err := bundle.Open(f.Dir, &f.Key.PublicKey)
		must(b, err)
		_, err = NewHandler(b.Context(), Options{Bundles: []*bundle.Bundle{opened}, Log: discard()})
		must(b, err)
		must(b, opened.Close())
	}
}

// BenchmarkServe measures the throughput of blobs over TLS, including the client. Their chunks were
// verified before.
func BenchmarkServe(b *testing.B) {
	f, layer, size := bigFixture(b)
	r := start(b, f.Open(b))
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			b.SetBytes(size * int64(clients))
			for b.Loop() {
				var all sync.WaitGroup
				for range clients {
					all.Go(func() { download(b, r, layer, size) })
				}
				all.Wait()
			}
		})
	}
}

func bigFixture(b *testing.B) (f *bundletest.Fixture, path string, size int64) {
	f = bundletest.NewWith(b, "big", bundletest.Image{Name: "docker.io/library/big:1", Held: bundletest.RandomImage(b, 64<<20, 1, "amd64")})
	layer, data := firstLayer(b, f.Images[0].Held)
	return f, "/v2/library/big/blobs/" + layer + "?ns=docker.io", int64(len(data))
}

func download(b *testing.B, r *running, path string, want int64) {
	req, err := http.NewRequest(http.MethodGet, r.url(path), nil)
	if err != nil {
		b.Error(err)
		return
	}
	resp, err := r.client.Do(req)
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != want {
		b.Errorf("%d bytes, %v, want %d", n, err, want)
	}
}
