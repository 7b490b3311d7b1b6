package kubeadm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// TestComplianceAsksTheKubelet: Compliance checks the kubelet's effective configuration, not
// only its file.
func TestComplianceAsksTheKubelet(t *testing.T) {
	c := section(t, "version: 1.36.3")
	good := byKubeadm + kubeletYAML(t, c)
	opened := strings.NewReplacer("enabled: false", "enabled: true", "mode: Webhook", "mode: AlwaysAllow").Replace(good) + "readOnlyPort: 10255\n"
	open := []string{"authentication.anonymous.enabled", "authorization.mode", "readOnlyPort"}
	for name, tc := range map[string]struct {
		file, answer string // "": the kubelet does not answer
		args         []string
		want         State
		says         string
	}{
		"compliant":                  {good, good, nil, Compliant, ""},
		"arguments override it":      {good, good, []string{"--anonymous-auth=true", "--authorization-mode=AlwaysAllow", "--read-only-port", "10255"}, Differs, ""},
		"arguments, and no answer":   {good, "", []string{"--anonymous_auth", "--authorization-mode=AlwaysAllow", "--read-only-port=10255"}, Differs, ""},
		"started with other values":  {good, opened, nil, Differs, ""},
		"its next start is open":     {opened, good, nil, Differs, "for its next start"},
		"it does not answer":         {good, "", nil, Unknown, "cannot read: it answered 403 Forbidden"},
		"it does not answer, opened": {opened, "", nil, Differs, "cannot read"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := newFake(t)
			f.Joins(t, "/proc/self", kubetest.HostNetwork)
			aKubelet(t, f, tc.file, tc.args...)
			ask := noAnswer
			if tc.answer != "" {
				ask = configz(t, tc.answer)
			}
			for _, control := range open {
				if got := foundWith(t, m, c, control, ask); got.State != tc.want || !strings.Contains(got.Found, tc.says) {
					t.Errorf("%s: %s, found %q, want %s with %q", control, got.State, got.Found, tc.want, tc.says)
				}
			}
		})
	}
	f, m := newFake(t)
	f.Joins(t, "/proc/self", kubetest.HostNetwork)
	aKubelet(t, f, good, "--config-dir=/etc/kubelet.d")
	f.Put(t, "/etc/kubelet.d/10-first.conf", "readOnlyPort: 0\n")
	f.Put(t, "/etc/kubelet.d/20-open.conf", "readOnlyPort: 10255\n")
	f.Put(t, "/etc/kubelet.d/30-none", "readOnlyPort: 0\n")
	if got := foundWith(t, m, c, "readOnlyPort", configz(t, good)); got.State != Differs || !strings.Contains(got.Found, "/etc/kubelet.d has 10255") {
		t.Errorf("with a drop-in: got %+v, want differs with 10255", got)
	}
	f, m = newFake(t)
	f.Joins(t, "/proc/self", kubetest.HostNetwork)
	f.Put(t, runtime.KubeletConfig, good)
	kubetest.Starts(t, f, 60, kubetest.HostNetwork, "/kubelet") // a process of a pod
	f.Put(t, "/proc/60/cgroup", "0::"+kubetest.APIGroup+"\n")
	if got := foundWith(t, m, c, "readOnlyPort", configz(t, good)); got.State != Differs || got.Found != "it does not run" {
		t.Errorf("without a running kubelet: got %+v, want differs", got)
	}
}

// TestComplianceReadsContents: the correct path of a file proves nothing about its content.
func TestComplianceReadsContents(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
	narrow := string(anonymousRule)
	identity := "kind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{identity: {}}, {secretbox: {keys: [{name: k, secret: s3cret}]}}]}]\n"
	notFirst := func(first string) string { // a KMS for Secrets, after an entry that stores plain text
		return "resources: [{resources: [" + first + "], providers: [{identity: {}}]}, {resources: [secrets], providers: [{kms: {}}]}]\n"
	}
	for name, tc := range map[string]struct {
		file, text string
		control    string
		want       State
		says       string
	}{
		"authentication, ours":         {authenticationFile, narrow, anonymousContents, Compliant, "/livez"},
		"authentication, open":         {authenticationFile, head + "anonymous: {enabled: true}\n", anonymousContents, Differs, "at every path"},
		"authentication, nothing":      {authenticationFile, head, anonymousContents, Differs, "at every path"},
		"authentication, closed":       {authenticationFile, head + "anonymous: {enabled: false}\n", anonymousContents, Differs, "refuses the kubelet's probes"},
		"authentication, one path":     {authenticationFile, narrow + "    - path: /metrics\n", anonymousContents, Differs, "/metrics"},
		"authentication, an issuer":    {authenticationFile, narrow + "jwt: [{issuer: {url: \"https://evil\"}}]\n", issuerContents, Differs, "https://evil"},
		"authentication, no YAML":      {authenticationFile, "{", anonymousContents, Unknown, "cannot be read"},
		"encryption, identity":         {encryption.EncryptionFile, identity, encryptionContents, Differs, "identity"},
		"encryption, not of Secrets":   {encryption.EncryptionFile, strings.Replace(identity, "secrets", "configmaps", 1), encryptionContents, Differs, "no entry for secrets"},
		"encryption, identity for all": {encryption.EncryptionFile, notFirst("'*.*'"), encryptionContents, Differs, "identity"},
		"encryption, a full stop":      {encryption.EncryptionFile, notFirst("secrets."), encryptionContents, Differs, "identity"},
		"encryption, a KMS":            {encryption.EncryptionFile, "resources: [{resources: [secrets], providers: [{kms: {}}, {identity: {}}]}]\n", encryptionContents, Compliant, "kms"},
		"audit, ours":                  {auditPolicyFile, string(auditPolicy), policyContents, Compliant, ""},
		"audit, none":                  {auditPolicyFile, "kind: Policy\nrules: [{level: None}]\n", policyContents, Differs, "log nothing"},
		"audit, nearly ours":           {auditPolicyFile, strings.Replace(string(auditPolicy), "rules:\n", "rules:\n  - {level: None, users: [mallory]}\n", 1), policyContents, Differs, "not airgap's"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := newFake(t)
			c := section(t, "version: 1.36.3")
			processes(t, f, c)
			f.Put(t, tc.file, tc.text)
			got := found(t, m, c, tc.control)
			if got.State != tc.want || !strings.Contains(got.Found, tc.says) {
				t.Errorf("%s, found %q, want %s with %q", got.State, got.Found, tc.want, tc.says)
			}
			if strings.Contains(got.Found, "s3cret") {
				t.Errorf("the finding contains the key: %q", got.Found)
			}
		})
	}
}

// TestComplianceFollowsArguments: Compliance reads the file in the argument, in the file system
// of the API server's pod.
func TestComplianceFollowsArguments(t *testing.T) {
	f, m := newFake(t)
	c := section(t, "version: 1.36.3")
	processes(t, f, c)
	kubetest.Starts(t, f, 1, kubetest.HostNetwork, "kube-apiserver", "--authentication-config=/elsewhere.yaml", "--authorization-config=/modes.yaml", "--audit-policy-file=/gone.yaml")
	f.Put(t, "/proc/1/root/elsewhere.yaml", "anonymous: {enabled: true}\n")
	f.Put(t, "/proc/1/root/modes.yaml", "authorizers: [{type: Node, name: n}, {type: AlwaysAllow, name: a}]\n")
	for name, want := range map[string]struct {
		state State
		says  string
	}{
		anonymousContents: {Differs, "at every path"}, "authentication-config": {Differs, "/elsewhere.yaml"},
		"authorization-mode": {Differs, "Node,AlwaysAllow"}, policyContents: {Unknown, "no such file"}, encryptionContents: {Differs, "not set"},
	} {
		if got := found(t, m, c, name); got.State != want.state || !strings.Contains(got.Found, want.says) {
			t.Errorf("%s: %s, found %q, want %s with %q", name, got.State, got.Found, want.state, want.says)
		}
	}
	if err := os.RemoveAll(filepath.Join(f.Root, "proc/1")); err != nil {
		t.Fatal(err)
	}
	f.Put(t, "/proc/100/environ", "PATH=/\x00AIRGAP_AUDIT_POLICY=00000000\x00")
	if got := found(t, m, c, policyContents); got.State != Differs || !strings.Contains(got.Found, "started with another") {
		t.Errorf("with a policy written after the start: got %+v, want differs", got)
	}
	f.Put(t, "/proc/103/environ", "ETCD_AUTO_TLS=true\x00")
	if got := found(t, m, c, "auto-tls"); got.State != Differs {
		t.Errorf("with a variable of etcd: got %+v, want differs", got)
	}
}

// TestBannedChoicesDiffer: Compliance reports insecure values as differing, although an older
// airgap accepted them in airgap.yaml.
func TestBannedChoicesDiffer(t *testing.T) {
	for name, c := range map[string]Config{
		"authorization-mode":    with(t, node.APIServer, "authorization-mode", "AlwaysAllow"),
		"authentication-config": with(t, node.APIServer, "oidc-issuer-url", "https://sso.bank"),
		"anonymous-auth":        with(t, node.APIServer, "anonymous-auth", "true"),
		"client-cert-auth":      with(t, node.Etcd, "client-cert-auth", "false"),
	} {
		f, m := newFake(t)
		processes(t, f, c)
		if got := found(t, m, c, name); got.State != Differs {
			t.Errorf("%s: got %+v, want differs", name, got)
		}
	}
	f, m := newFake(t)
	c := section(t, "{version: 1.36.3, overrides: {kubelet: {readOnlyPort: 10255}}}")
	f.Joins(t, "/proc/self", kubetest.HostNetwork)
	aKubelet(t, f, "readOnlyPort: 10255\n")
	if got := foundWith(t, m, c, "readOnlyPort", configz(t, "readOnlyPort: 10255")); got.State != Differs {
		t.Errorf("got %+v, want differs", got)
	}
}

// TestComplianceOfIssuers: the issuers of airgap.yaml are reported as chosen.
func TestComplianceOfIssuers(t *testing.T) {
	f, m := newFake(t)
	c := section(t, `{version: 1.36.3, authentication: {jwt: [`+ssoIssuer+`]}}`)
	processes(t, f, c)
	if got := found(t, m, c, issuerContents); got.State != Chosen || got.Found != "https://sso.bank.example" {
		t.Errorf("got %+v, want chosen", got)
	}
	if got := found(t, m, c, anonymousContents); got.State != Compliant {
		t.Errorf("got %+v, want compliant", got)
	}
	c.Authentication.JWT = nil
	if got := found(t, m, c, issuerContents); got.State != Differs {
		t.Errorf("with an issuer that is not in airgap.yaml: got %+v, want differs", got)
	}
}
