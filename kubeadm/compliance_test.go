package kubeadm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// processes starts the control-plane programs with the arguments of the configuration and
// those of kubeadm.
func processes(t *testing.T, f *hosttest.Fake, c Config) {
	t.Helper()
	byKubeadm := map[node.Part]string{
		node.APIServer: "authorization-mode=Node,RBAC enable-admission-plugins=NodeRestriction kubelet-client-certificate=x service-account-key-file=x " +
			"etcd-certfile=x etcd-cafile=x tls-cert-file=x client-ca-file=x",
		node.ControllerManager: "use-service-account-credentials=true service-account-private-key-file=x root-ca-file=x bind-address=127.0.0.1",
		node.Scheduler:         "bind-address=127.0.0.1",
		node.Etcd:              "cert-file=x client-cert-auth=true peer-cert-file=x peer-client-cert-auth=true trusted-ca-file=/etc/kubernetes/pki/etcd/ca.crt",
	}
	for i, part := range node.StaticPods() {
		argv := []string{"/usr/bin/" + string(part)}
		for arg := range strings.FieldsSeq(byKubeadm[part]) {
			argv = append(argv, "--"+arg)
		}
		for _, arg := range argumentsOf(cluster(c, Node{}), part) {
			argv = append(argv, "--"+arg.name+"="+arg.value)
		}
		f.Put(t, node.ManifestOf(part), "x")
		if err := os.Chmod(filepath.Join(f.Root, node.ManifestOf(part)), 0o600); err != nil {
			t.Fatal(err)
		}
		kubetest.Starts(t, f, 100+i, kubetest.HostNetwork, argv...)
	}
	f.Joins(t, "/proc/self", kubetest.HostNetwork)
	files, err := apiServerFiles(c)
	if err != nil {
		t.Fatal(err)
	}
	if files[encryption.EncryptionFile], err = encryption.FirstKeys(encryption.Secretbox); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		f.Put(t, name, string(text))
		if err := errors.Join(os.Chmod(filepath.Join(f.Root, node.APIServerDir), 0o700), os.Chmod(filepath.Join(f.Root, name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// byKubeadm are the kubelet fields that kubeadm sets.
const byKubeadm = "authentication: {anonymous: {enabled: false}, x509: {clientCAFile: /ca}}\nauthorization: {mode: Webhook}\nrotateCertificates: true\n"

// aKubelet starts a kubelet with this configuration file and arguments.
func aKubelet(t *testing.T, f *hosttest.Fake, text string, args ...string) {
	t.Helper()
	f.Put(t, runtime.KubeletConfig, text)
	if err := os.Chmod(filepath.Join(f.Root, runtime.KubeletConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	kubetest.Starts(t, f, 50, kubetest.HostNetwork, append([]string{"/usr/bin/kubelet", "--config=" + runtime.KubeletConfig}, args...)...)
}

// configz is a kubelet's answer with these fields.
func configz(t *testing.T, text string) func(context.Context) ([]byte, error) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"kubeletconfig": decoded(t, []byte(text))})
	if err != nil {
		t.Fatal(err)
	}
	return func(context.Context) ([]byte, error) { return body, nil }
}

func noAnswer(context.Context) ([]byte, error) { return nil, errors.New("it answered 403 Forbidden") }

func found(t *testing.T, m Machine, c Config, name string) Finding {
	t.Helper()
	return foundWith(t, m, c, name, noAnswer)
}

func foundWith(t *testing.T, m Machine, c Config, name string, configz func(context.Context) ([]byte, error)) Finding {
	t.Helper()
	all, err := Compliance(t.Context(), m, c, configz)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("got no finding for %s", name)
	return Finding{}
}

func TestCompliance(t *testing.T) {
	f, m := newFake(t)
	c := section(t, `version: 1.36.3`)
	processes(t, f, c)
	aKubelet(t, f, byKubeadm+kubeletYAML(t, c))
	all, err := Compliance(t.Context(), m, c, configz(t, byKubeadm+kubeletYAML(t, c)))
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range all {
		root := os.Geteuid() == 0 || finding.Part != Files
		if root && finding.State != Compliant && finding.State != Elsewhere || finding.Part != Files && finding.State == Elsewhere {
			t.Errorf("%s %s: %s, found %q, want %s", finding.Part, finding.Name, finding.State, finding.Found, finding.Expected())
		}
	}
}

func kubeletYAML(t *testing.T, c Config) string {
	t.Helper()
	text, err := documents(baselineKubelet(c))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestComplianceFindsChanges(t *testing.T) {
	f, m := newFake(t)
	f.Joins(t, "/proc/self", kubetest.HostNetwork)
	c := section(t, `version: 1.36.3`)
	if got := found(t, m, c, "profiling"); got.State != Elsewhere {
		t.Errorf("without an API server: got %+v, want elsewhere", got)
	}
	f.Put(t, node.ManifestOf(node.APIServer), "x")
	if got := found(t, m, c, "profiling"); got.State != Differs {
		t.Errorf("with a stopped API server: got %+v, want differs", got)
	}
	kubetest.Starts(t, f, 7, kubetest.HostNetwork, "kube-apiserver", "--profiling=true", "--enable-admission-plugins=AlwaysAdmit,NodeRestriction", "--token-auth-file=/t")
	for name, want := range map[string]State{
		"profiling": Differs, "enable-admission-plugins": Compliant, "token-auth-file": Differs, "service-account-lookup": Compliant,
		"audit-log-path": Differs, "client-ca-file": Differs,
	} {
		if got := found(t, m, c, name); got.State != want {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	aKubelet(t, f, "podPidsLimit: 4096\n")
	if got := foundWith(t, m, c, "podPidsLimit", configz(t, "podPidsLimit: 5")); got.State != Differs || got.Found != "5" {
		t.Errorf("got %+v, want differs with 5", got)
	}
	if err := os.Chmod(filepath.Join(f.Root, runtime.KubeletConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := found(t, m, c, runtime.KubeletConfig); got.State != Differs || !strings.HasPrefix(got.Found, "0644") {
		t.Errorf("got %+v, want differs with 0644", got)
	}
}

// TestComplianceLeavesPodsAlone: Compliance ignores a tenant's program with the name of a
// control-plane program.
func TestComplianceLeavesPodsAlone(t *testing.T) {
	c := section(t, `version: 1.36.3`)
	tenant := []string{"/usr/local/bin/kube-apiserver", "--profiling=true", "--etcd-cafile=/theirs"}
	f, m := newFake(t)
	f.Joins(t, "/proc/self", kubetest.HostNetwork)
	kubetest.Starts(t, f, 20, kubetest.HostNetwork, tenant...) // a pod may have the host's network as well
	if got := found(t, m, c, "profiling"); got.State != Elsewhere {
		t.Errorf("on a worker: got %+v, want elsewhere", got)
	}
	f, m = newFake(t)
	processes(t, f, c)
	kubetest.Starts(t, f, 10, "net:[2]", tenant...)
	kubetest.Starts(t, f, 200, "net:[2]", tenant...)
	if got := found(t, m, c, "profiling"); got.State != Compliant {
		t.Errorf("next to the cluster's API server: got %+v, want compliant", got)
	}
	if flags, err := node.Flags(m.Machine, node.APIServer); err != nil || flags["etcd-cafile"] != "x" {
		t.Errorf("got flags %v, %v, want those of the cluster's API server", flags, err)
	}
	if err := os.RemoveAll(filepath.Join(f.Root, "proc/100")); err != nil {
		t.Fatal(err)
	}
	if got := found(t, m, c, "profiling"); got.State != Differs || got.Found != "it does not run" {
		t.Errorf("without the cluster's API server: got %+v, want differs", got)
	}
}

// TestComplianceOfChoices: values of airgap.yaml are reported as chosen, other changes as
// differing.
func TestComplianceOfChoices(t *testing.T) {
	f, m := newFake(t)
	c := section(t, `
version: 1.36.3
encryptionAtRest: none
audit: {maxAge: 90, policy: {rules: [{level: Metadata}]}}
overrides:
  kubelet: {podPidsLimit: 100}
  clusterConfiguration:
    apiServer: {extraArgs: [{name: profiling, value: "true"}]}
    etcd: {local: {extraArgs: [{name: tls-min-version, value: TLS1.3}]}}
`)
	processes(t, f, c)
	aKubelet(t, f, "podPidsLimit: 100\n")
	for name, want := range map[string]State{
		"profiling": Chosen, "authentication-config": Compliant, "encryption-provider-config": Chosen, encryptionContents: Chosen, "audit-log-maxage": Chosen,
		"audit-policy-file": Compliant, policyContents: Chosen, "podPidsLimit": Chosen, "seccompDefault": Differs, "audit-log-maxsize": Compliant,
	} {
		if got := foundWith(t, m, c, name, configz(t, "podPidsLimit: 100")); got.State != want {
			t.Errorf("%s: %s, found %q, want %s", name, got.State, got.Found, want)
		}
	}
	// A value that airgap.yaml does not set differs.
	c.Overrides.Kubelet["podPidsLimit"] = 200
	c.Audit.MaxAge = 91
	for _, name := range []string{"podPidsLimit", "audit-log-maxage"} {
		if got := foundWith(t, m, c, name, configz(t, "podPidsLimit: 100")); got.State != Differs {
			t.Errorf("%s: %s, found %q, want %s", name, got.State, got.Found, Differs)
		}
	}
}

// TestBaselineMerges: a site's arguments replace airgap's, and kubeadm accepts the result.
func TestBaselineMerges(t *testing.T) {
	c := section(t, `
version: 1.36.3
overrides:
  clusterConfiguration:
    apiServer:
      extraArgs: [{name: profiling, value: "true"}, {name: service-account-issuer, value: "https://a"}, {name: service-account-issuer, value: "https://b"}]
      extraVolumes: [{name: hsm, hostPath: /run/hsm, mountPath: /run/hsm}]
`)
	got, err := InitDocuments(c, Node{Name: "cp1", Address: "192.0.2.11"}, runtime.Facts{OS: "el9", Driver: runtime.Systemd})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"value: https://a\n": 1, "value: https://b\n": 1, "name: audit-log-path\n": 1, "mountPath: /run/hsm\n": 1, "mountPath: " + node.APIServerDir + "\n": 1,
		"name: profiling\n":                      3, // of three programs
		"name: profiling\n    value: \"true\"\n": 1,
	} {
		if n := strings.Count(string(got), text); n != want {
			t.Errorf("got %q %d times, want %d:\n%s", text, n, want, got)
		}
	}
	acceptedByKubeadm(t, got)
}

// TestCompliancePage: docs/compliance.md matches the code.
func TestCompliancePage(t *testing.T) {
	c := Config{Version: "1.36.3"}
	c.Default("")
	var page strings.Builder
	fmt.Fprintf(&page, compliancePage, Benchmark)
	wraps := strings.NewReplacer(", ", ", ", ",", ", ") // a list without spaces would make the table wide
	for _, control := range Controls(c) {
		setting := ""
		if control.Setting != "" {
			setting = "; `" + control.Setting + "`"
		}
		fmt.Fprintf(&page, "| %s | %s | `%s` | %s | %s | %s%s |\n", control.ID, control.Part, control.Name, wraps.Replace(control.Expected()), control.By, control.Why, setting)
	}
	page.WriteString(openPage)
	for _, o := range Exceptions() {
		how := o.How
		if how == "" {
			how = "-"
		}
		fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", o.ID, o.Title, o.Why, how)
	}
	hosttest.Golden(t, "../../docs/compliance.md", []byte(page.String()))
}

const compliancePage = `<!-- Made from kubeadm/baseline*.go: go test ./kubeadm -run CompliancePage -update -->
# The compliance baseline

Every cluster has this baseline without further configuration. The numbers are those of the %s.
` + "`airgap compliance`" + ` checks the effective values on each server: the arguments of the running programs, the files in these
arguments, and the configuration that the kubelet reports. It exits with 4 if a value differs or cannot be read. A value of
an argument or field in ` + "`kubernetes.overrides`" + ` of airgap.yaml replaces airgap's value; if a server has that value, it is
shown as chosen.

By: **airgap** sets the values that kubeadm does not set. airgap only checks the values of **kubeadm** and **default**.

| CIS | Of | Setting | Value | By | Why |
|---|---|---|---|---|---|
`

const openPage = `
## Left open
The cluster does not follow these recommendations. The last column has the setting for a site that needs one.

| CIS | Recommendation | Why not | How to follow it |
|---|---|---|---|
`
