package verify

import (
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/verify/imagebook"
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
		look := func(i imagebook.Image) imagebook.Answer {
			if i.Repository == "quay.io/x/tool" {
				return imagebook.Answer{State: imagebook.Missing}
			}
			return imagebook.Answer{State: imagebook.Found}
		}
		wantSaw(t, judgeImages(v, look),
			Finding{Object: "Image " + foreign, Saw: "it is not in the registry; it runs in shop/b, shop/c"},
			Finding{Object: "Image " + digest, Saw: "the runtime has it only as " + digest + ", without the name of a registry; it runs in shop/loaded"})
	})
	t.Run("no answer is one finding", func(t *testing.T) {
		look := func(imagebook.Image) imagebook.Answer { return imagebook.Answer{Err: errors.New("connection refused")} }
		got := judgeImages(seen(t, pod("a", "a", "w1"), pod("a", "b", "w1", imageID(foreign))), look)
		wantSaw(t, got, Finding{Object: "Registry", Saw: "no answer about 2 images: connection refused"})
	})
}
