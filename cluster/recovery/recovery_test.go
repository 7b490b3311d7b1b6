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

// savedBackup returns a backup with these files and those that identify its cluster.
func savedBackup(t *testing.T, files map[string]string) *SavedCluster {
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

// TestCheckListsAllDifferences: one error lists all differences between backup and bundle.
func TestCheckListsAllDifferences(t *testing.T) {
	r := Restoration{sitetest.SettingsSite(t, ""), savedBackup(t, nil)}
	if err := r.check(t.Context()); err == nil || !strings.Contains(err.Error(), "it is not a control-plane host") {
		t.Errorf("on a worker: %v", err)
	}
	r.Site.Node = r.Site.Config.Nodes[0]
	r.Site.Config.Name, r.Site.Config.Kubernetes.PodSubnet = "bank-b", "10.1.0.0/16"
	err := r.check(t.Context())
	for _, says := range []string{
		"the backup and the bundle are of different clusters", "the cluster's name was bank and is bank-b",
		"the pod network was 10.244.0.0/16", "encryption of Secrets was off",
	} {
		if err == nil || !strings.Contains(err.Error(), says) || advice.Of(err) == "" {
			t.Errorf("%v does not contain %q", err, says)
		}
	}
}

// TestRestoredSteps: the list of reset contains every step that a restore adds to an installation.
func TestRestoredSteps(t *testing.T) {
	r := Restoration{sitetest.SettingsSite(t, ""), savedBackup(t, map[string]string{site.UsersFile: "ci:hash", site.JournalFile: "{}"})}
	restoredSteps, err := r.restoredSteps()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(sitetest.StepNames(restoredSteps), " "); got != "restored authority users" {
		t.Errorf("got %s", got)
	}
	known := sitetest.StepNames(reset.Steps(false))
	for _, s := range restoredSteps {
		if !slices.Contains(known, s.Name) {
			t.Errorf("the list of reset does not contain %s", s.Name)
		}
	}
	if without, err := (Restoration{sitetest.SettingsSite(t, ""), savedBackup(t, nil)}).restoredSteps(); err != nil || len(without) != 2 {
		t.Errorf("without push users: %v, %v", sitetest.StepNames(without), err)
	}
}

func TestReplaceAndInsertSteps(t *testing.T) {
	at := func(name, title string) step.Step { return step.Step{Name: name, Title: title} }
	steps := []step.Step{at("record", ""), at("kubeadm", "init"), at("network", "")}
	replaceStep(steps, at("kubeadm", "restore"))
	steps = insertAfter(steps, "record", at("restored", ""), at("authority", ""))
	steps = insertAfter(steps, "kubeadm", at("old-codes", ""))
	if got := strings.Join(sitetest.StepNames(steps), " "); got != "record restored authority kubeadm old-codes network" || steps[3].Title != "restore" {
		t.Errorf("got %s", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for a missing step")
		}
	}()
	replaceStep(steps, at("encryption", ""))
}

// TestCheckRequiredKeys: the required keys of the bundle never come from the backup. If the lost cluster
// required keys, the operator must name them again.
func TestCheckRequiredKeys(t *testing.T) {
	saved := savedBackup(t, map[string]string{site.RequiredFile: "SHA256:aa\nSHA256:bb\n"})
	if err := saved.checkRequiredKeys(nil); err == nil || !strings.Contains(err.Error(), "--require-key is missing") || !strings.Contains(advice.Of(err), "SHA256:aa, SHA256:bb") {
		t.Errorf("without the flag: %v, %s", err, advice.Of(err))
	}
	if err := saved.checkRequiredKeys([]string{"SHA256:cc"}); err != nil {
		t.Errorf("with the flag: %v", err)
	}
	if err := saved.checkRequiredKeys([]string{site.RequireKeys(2)}); err == nil || !strings.Contains(err.Error(), "--require-key is missing") {
		t.Errorf("with the number of keys only: %v", err)
	}
	two := savedBackup(t, map[string]string{site.RequiredFile: site.RequireKeys(2) + "\n"})
	if err := two.checkRequiredKeys([]string{"SHA256:cc"}); err == nil || advice.Of(err) != "add --require-keys 2" {
		t.Errorf("with a smaller number: %v", err)
	}
	if err := two.checkRequiredKeys([]string{site.RequireKeys(2)}); err != nil {
		t.Errorf("with the number: %v", err)
	}
	if err := savedBackup(t, nil).checkRequiredKeys(nil); err != nil {
		t.Errorf("no keys required: %v", err)
	}
}

func TestResultListsLostNodes(t *testing.T) {
	r := Result{
		Node: "cp1", Of: "cp2", Taken: time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC), Etcd: etcd.SnapshotInfo{Keys: 321}, Changed: 30, Unchanged: 3,
		Lost: []string{"w1"}, Strangers: []string{"w9"}, Join: []join.Line{{Node: "w1", Line: "airgap join 192.0.2.11:5000", Code: "abcdef.0123456789abcdef"}},
	}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"cp1: the cluster is restored from the backup of cp2 from 2026-11-23 02:00:00 UTC: 321 etcd keys (30 steps ran, 3 were up to date)\n",
		"push them again", "Node w1 is lost: join a host in its place", "kubectl delete node w9", "airgap join 192.0.2.11:5000", "abcdef.0123456789abcdef",
	} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("%q is not in\n%s", says, &out)
		}
	}
}

// TestUntilJoined: once the host is in the cluster, the step does not run again.
func TestUntilJoined(t *testing.T) {
	s := sitetest.SettingsSite(t, "")
	s.Machine.Root = t.TempDir()
	asked := false
	limited := Restoration{Site: s}.untilJoined(step.Step{Done: func(context.Context) (bool, error) { asked = true; return false, nil }})
	if done, err := limited.Done(t.Context()); done || err != nil || !asked {
		t.Errorf("before: %v, %v", done, err)
	}
	file := filepath.Join(s.Machine.Root, "/var/lib/airgap/kubeadm.state")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("ended\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	asked = false
	if done, err := limited.Done(t.Context()); !done || err != nil || asked {
		t.Errorf("after: %v, %v", done, err)
	}
}
