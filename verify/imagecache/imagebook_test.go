package imagecache

import (
	"testing"
	"time"
)

// TestForgetsImages: the book removes an image without a Look for a long time.
func TestForgetsImages(t *testing.T) {
	b := New(nil, nil)
	defer b.Close()
	img := Image{"registry.k8s.io/pause", "sha256:1"}
	b.Look(img)
	if b.forget(img, time.Now()) || len(b.answers) != 1 {
		t.Error("the book removed an image that is in use")
	}
	if !b.forget(img, time.Now().Add(usedFor)) || len(b.answers)+len(b.used) != 0 {
		t.Errorf("got %v, %v, want no image", b.answers, b.used)
	}
}

const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func TestParse(t *testing.T) {
	for _, test := range []struct{ id, want string }{
		{"registry.k8s.io/kube-proxy@" + digest, "registry.k8s.io/kube-proxy@" + digest},
		{"docker.io/library/hello@" + digest, "docker.io/library/hello@" + digest},
		{"docker-pullable://hello@" + digest, "docker.io/library/hello@" + digest},
		{"harbor.bank:5000/team/app@" + digest, "harbor.bank:5000/team/app@" + digest},
		{digest, ""},
		{"registry.k8s.io/pause:3.10", ""},
		{"", ""},
	} {
		img, err := Parse(test.id)
		if test.want == "" {
			if err == nil {
				t.Errorf("%q: got %s, want an error", test.id, img)
			}
		} else if err != nil || img.String() != test.want {
			t.Errorf("%q: got %s (%v), want %s", test.id, img, err, test.want)
		}
	}
}
