package recovery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/reset"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/etcd"
)

// aBackup is one with these files beside those that tell which cluster it is of.
func aBackup(t *testing.T, files map[string]string) *SavedCluster {
	t.Helper()
	pod := func(image, arg string) string {
		return "kind: Pod\nspec: {containers: [{image: '" + image + "', command: [prog, '" + arg + "']}]}\n"
	}
	all := map[string]string{
		"/etc/kubernetes/manifests/kube-apiserver.yaml":          pod("registry.k8s.io/kube-apiserver:v1.36.3", "--service-cluster-ip-range=10.96.0.0/16"),
		"/etc/kubernetes/manifests/kube-controller-manager.yaml": pod("registry.k8s.io/kube-controller-manager:v1.36.3", "--cluster-cidr=10.244.0.0/16"),
		"/etc/kubernetes/manifests/etcd.yaml":                    pod("registry.k8s.io/etcd:3.6.8-0", "--name=cp1"),
		"/etc/kubernetes/admin.conf":                             sitetest.Kubeconfig("https://192.0.2.11:6443"),
		"/backup.json":                                           `{"taken":"2026-11-23T02:00:00Z","cluster":"bank"}`,
	}
	maps.Copy(all, files)
	dir, sums := t.TempDir(), ""
	for name, text := range all {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(text)), name[1:])
	}
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := backup.Open(dir, backup.Trust{Anyone: true})
	if err != nil {
		t.Fatal(err)
	}
	return &SavedCluster{Contents: c}
}

// TestRestoreIsOfTheSameCluster: all that differs is said at once.
func TestRestoreIsOfTheSameCluster(t *testing.T) {
	r := Restoration{sitetest.SettingsSite(t, ""), aBackup(t, nil)}
	if err := r.check(t.Context()); err == nil || !strings.Contains(err.Error(), "no control-plane host") {
		t.Errorf("on a worker: %v", err)
	}
	r.Site.Node = r.Site.Config.Nodes[0]
	r.Site.Config.Name, r.Site.Config.Kubernetes.PodSubnet = "bank-b", "10.1.0.0/16"
	err := r.check(t.Context())
	for _, says := range []string{"it is not the same cluster", "the cluster's name was bank, and is bank-b", "the pods' network was 10.244.0.0/16", "encryption of Secrets was off"} {
		if err == nil || !strings.Contains(err.Error(), says) || advice.Of(err) == "" {
			t.Errorf("%v does not say %q", err, says)
		}
	}
}

// TestInherited: reset knows every step that a restore has and an installation has
// not, and each comes before what it is for.
func TestInherited(t *testing.T) {
	r := Restoration{sitetest.SettingsSite(t, ""), aBackup(t, map[string]string{site.UsersFile: "ci:hash", site.JournalFile: "{}"})}
	inherited, err := r.inherited()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(sitetest.StepNames(inherited), " "); got != "restored authority users" {
		t.Errorf("got %s", got)
	}
	known := sitetest.StepNames(reset.Steps(false))
	for _, s := range inherited {
		if !slices.Contains(known, s.Name) {
			t.Errorf("reset does not know %s", s.Name)
		}
	}
	if without, err := (Restoration{sitetest.SettingsSite(t, ""), aBackup(t, nil)}).inherited(); err != nil || len(without) != 2 {
		t.Errorf("nobody may push, and there are %v, %v", sitetest.StepNames(without), err)
	}
}

func TestStepsTakeTheirPlaces(t *testing.T) {
	at := func(name, title string) step.Step { return step.Step{Name: name, Title: title} }
	steps := []step.Step{at("record", ""), at("kubeadm", "init"), at("network", "")}
	instead(steps, at("kubeadm", "restore"))
	steps = insertAfter(steps, "record", at("restored", ""), at("authority", ""))
	steps = insertAfter(steps, "kubeadm", at("old-codes", ""))
	if got := strings.Join(sitetest.StepNames(steps), " "); got != "record restored authority kubeadm old-codes network" || steps[3].Title != "restore" {
		t.Errorf("got %s", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a step that is not there was replaced")
		}
	}()
	instead(steps, at("encryption", ""))
}

// TestRestoredKeys: which keys the bundle must be signed with never comes from the backup. A site
// that required some is asked to name them, so that the requirement is not lost with the cluster.
func TestRestoredKeys(t *testing.T) {
	saved := aBackup(t, map[string]string{site.RequiredFile: "SHA256:aa\nSHA256:bb\n"})
	if err := saved.heldTo(nil); err == nil || !strings.Contains(err.Error(), "--require-key is missing") || !strings.Contains(advice.Of(err), "SHA256:aa, SHA256:bb") {
		t.Errorf("without the flag: %v, %s", err, advice.Of(err))
	}
	if err := saved.heldTo([]string{"SHA256:cc"}); err != nil {
		t.Errorf("by the flag: %v", err)
	}
	if err := aBackup(t, nil).heldTo(nil); err != nil {
		t.Errorf("nothing was required: %v", err)
	}
}

func TestRestoredSaysWhoIsMissing(t *testing.T) {
	r := Result{
		Node: "cp1", Of: "cp2", Taken: time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC), Etcd: etcd.SnapshotInfo{Keys: 321}, Changed: 30, Unchanged: 3,
		Lost: []string{"w1"}, Strangers: []string{"w9"}, Join: []join.Line{{Node: "w1", Line: "airgap join 192.0.2.11:5000", Code: "abcdef.0123456789abcdef"}},
	}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"cp1: the cluster is back as cp2 had it on 2026-11-23 02:00:00 UTC: 321 keys of etcd (30 steps ran, 3 held already)\n",
		"push them again", "Node w1 is lost: join a host in its place", "kubectl delete node w9", "airgap join 192.0.2.11:5000", "abcdef.0123456789abcdef",
	} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("%q is not in\n%s", says, &out)
		}
	}
}

// TestUntilFounded: what was brought on the way to the cluster is not brought again
// once the host has one.
func TestUntilFounded(t *testing.T) {
	s := sitetest.SettingsSite(t, "")
	s.Machine.Root = t.TempDir()
	asked := false
	held := Restoration{Site: s}.untilFounded(step.Step{Done: func(context.Context) (bool, error) { asked = true; return false, nil }})
	if done, err := held.Done(t.Context()); done || err != nil || !asked {
		t.Errorf("before: %v, %v", done, err)
	}
	file := filepath.Join(s.Machine.Root, "/var/lib/airgap/kubeadm.state")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("ended\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	asked = false
	if done, err := held.Done(t.Context()); !done || err != nil || asked {
		t.Errorf("after: %v, %v", done, err)
	}
}
