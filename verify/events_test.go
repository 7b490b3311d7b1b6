package verify

import (
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

func TestMarking(t *testing.T) {
	at := func(version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: version}}
	}
	marks, observed := 0, 0
	handler := marking(func() { marks++ }, func(any) {}, func(_, _ any) { observed++ })
	for _, test := range []struct {
		name  string
		event func()
		want  int
	}{
		{"new", func() { handler.OnAdd(at("1"), false) }, 1},
		{"changed", func() { handler.OnUpdate(at("1"), at("2")) }, 1},
		{"listed again", func() { handler.OnUpdate(at("2"), at("2")) }, 0},
		{"deleted", func() { handler.OnDelete(at("2")) }, 1},
		{"deleted unseen", func() { handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "p", Obj: at("2")}) }, 1},
		{"deleted unseen, last state unknown", func() { handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "p"}) }, 1},
	} {
		marks = 0
		test.event()
		if marks != test.want {
			t.Errorf("%s: %d marks, want %d", test.name, marks, test.want)
		}
	}
}

func TestTrimKeepsUsedFields(t *testing.T) {
	p := pod("kube-system", "p", "w1", ownedBy("x"), func(p *corev1.Pod) {
		p.ResourceVersion = "7"
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	})
	trimmed, err := trim(p)
	if err != nil {
		t.Fatal(err)
	}
	got := trimmed.(*keptPod)
	if got.GetResourceVersion() != "7" || got.node != "w1" || got.from.Value().owner != "x" || got.containers[0].of.Value().image != proxyImage || !got.running || got.problem != nil {
		t.Errorf("a used field is lost: %+v", got)
	}
	if twice, err := trim(got); err != nil || twice != any(got) {
		t.Errorf("trimming again changed it to %v (%v)", twice, err)
	}
	tombstone := cache.DeletedFinalStateUnknown{Key: "p", Obj: p}
	if same, err := trim(tombstone); err != nil || same != any(tombstone) {
		t.Errorf("trimming changed a tombstone to %v (%v)", same, err)
	}
}

// TestKeptPodIsSmall: a keptPod takes 160 bytes. The next size class is 176 bytes, which is 1.6 MB
// more for 100,000 pods.
func TestKeptPodIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(keptPod{}); size > 160 {
		t.Errorf("a keptPod takes %d bytes", size)
	}
	healthy := pod("shop", "p", "w1")
	healthy.UID = "0b9a2b7e-6d0b-4f0e-9c55-0d3a5d9f7a10"
	if kept := keepPod(healthy); kept.rare != nil || kept.problem != nil || kept.identity() != string(healthy.UID) {
		t.Errorf("a healthy pod takes more memory: %+v", kept)
	}
}

// TestUIDStays: a UID in another format than that of API servers is kept unchanged.
func TestUIDStays(t *testing.T) {
	for _, uid := range []types.UID{"", "uid-of-p", "0B9A2B7E-6D0B-4F0E-9C55-0D3A5D9F7A10", "{0b9a2b7e-6d0b-4f0e-9c55-0d3a5d9f7a10}", "00000000-0000-0000-0000-000000000000"} {
		p := pod("shop", "p", "w1")
		p.UID = uid
		if got := keepPod(p).identity(); got != string(uid) {
			t.Errorf("%q changed to %q", uid, got)
		}
	}
}
