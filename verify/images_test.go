package verify

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/verify/imagecache"
	corev1 "k8s.io/api/core/v1"
)

var digest = "sha256:" + strings.Repeat("a", 64)

func TestRunningImages(t *testing.T) {
	foreign := "quay.io/x/tool@" + digest
	v := seen(t,
		pod("kube-system", "a", "w1"), pod("shop", "b", "w1", imageID(foreign)), pod("shop", "c", "w2", imageID(foreign)),
		pod("shop", "loaded", "w1", imageID(digest)),
		pod("shop", "not-running", "w1", imageID("quay.io/x/gone@"+digest), waiting("CrashLoopBackOff", "")),
		pod("shop", "init", "w1", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = p.Status.ContainerStatuses // a sidecar: counted twice, checked once
		}))
	t.Run("answers", func(t *testing.T) {
		look := func(i imagecache.Image) imagecache.Answer {
			if i.Repository == "quay.io/x/tool" {
				return imagecache.Answer{State: imagecache.Missing}
			}
			return imagecache.Answer{State: imagecache.Found}
		}
		wantSaw(t, judgeImages(v, look),
			Finding{Object: "Image " + foreign, Saw: "it is not in the registry; it runs in shop/b, shop/c"},
			Finding{Object: "Image " + digest, Saw: "the runtime has it only as " + digest + ", without the name of a registry; it runs in shop/loaded"})
	})
	t.Run("no answer is one finding", func(t *testing.T) {
		look := func(imagecache.Image) imagecache.Answer {
			return imagecache.Answer{Err: errors.New("connection refused")}
		}
		got := judgeImages(seen(t, pod("a", "a", "w1"), pod("a", "b", "w1", imageID(foreign))), look)
		wantSaw(t, got, Finding{Object: "Registry", Saw: "no answer about 2 images: connection refused"})
	})
}

// TestImagesAskedEarly: the registry is asked about images while another kind is still listed.
func TestImagesAskedEarly(t *testing.T) {
	b := newTestCluster(t)
	asked := make(chan struct{})
	var once sync.Once
	o := b.options()
	w := wire{touch: func(r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/nodes") {
			return
		}
		select {
		case <-asked:
		case <-time.After(20 * time.Second):
			t.Error("no question about an image before the nodes were listed")
		case <-r.Context().Done():
		}
	}}
	o.API, o.Only, o.Timeout = w.on(o.API), []string{"images", "nodes-ready"}, time.Minute
	o.ImageExists = func(context.Context, string, string) (bool, error) {
		once.Do(func() { close(asked) })
		return true, nil
	}
	if r := b.verify(o); !r.OK {
		t.Errorf("findings %+v", r.Findings)
	}
}
