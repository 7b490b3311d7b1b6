package kubeadm

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
)

func TestAuditValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		section string
		want    []string
	}{
		"defaults":  {`{version: 1.36.3}`, nil},
		"off":       {`{version: 1.36.3, audit: {log: none}}`, nil},
		"own":       {`{version: 1.36.3, audit: {maxSize: 10, policy: {rules: [{level: Metadata}]}}}`, nil},
		"elsewhere": {`{version: 1.36.3, audit: {log: syslog}}`, []string{"audit.log: Unsupported value"}},
		"endless":   {`{version: 1.36.3, audit: {maxBackups: -1}}`, []string{"audit.maxBackups: Invalid value"}},
		"empty":     {`{version: 1.36.3, audit: {policy: {omitStages: [Panic]}}}`, []string{"audit.policy.rules: Required value"}},
		"level":     {`{version: 1.36.3, audit: {policy: {kind: Policy, rules: [{level: Metadata}, {level: Everything}]}}}`, []string{"audit.policy.rules[1].level: Unsupported value"}},
		"version":   {`{version: 1.36.3, audit: {policy: {apiVersion: audit.k8s.io/v1beta1, rules: [{level: Metadata}]}}}`, []string{"audit.policy.apiVersion: Invalid value"}},
		"provider":  {`{version: 1.36.3, encryptionAtRest: kms}`, []string{"encryptionAtRest: Unsupported value"}},
	} {
		t.Run(name, func(t *testing.T) {
			hosttest.Compare(t, section(t, tc.section).Validate(field.NewPath("kubernetes")), tc.want)
		})
	}
}

func TestAuditBytes(t *testing.T) {
	if got := section(t, `version: 1.36.3`).Audit.Bytes(); got != 11*100<<20 {
		t.Errorf("the log takes %d bytes", got)
	}
	if got := section(t, `{version: 1.36.3, audit: {log: none}}`).Audit.Bytes(); got != 0 {
		t.Errorf("no log takes %d bytes", got)
	}
}

// Our own policy: what may hold a secret is noted without its content, and
// before any rule that would pass over it.
func TestAuditPolicyNotesNoSecret(t *testing.T) {
	if errs := validatePolicy(field.NewPath("policy"), decoded(t, auditPolicy)); len(errs) > 0 {
		t.Fatal(errs)
	}
	var policy struct {
		Rules []struct {
			Level     string
			Resources []struct {
				Group     string
				Resources []string
			}
		}
	}
	if err := yaml.Unmarshal(auditPolicy, &policy); err != nil {
		t.Fatal(err)
	}
	if first := policy.Rules[0]; first.Level != "Metadata" || first.Resources[0].Resources[0] != "secrets" {
		t.Errorf("the first rule is %+v: a later one may hide who reads Secrets", first)
	}
	for i, rule := range policy.Rules {
		for _, r := range rule.Resources {
			if rule.Level == "RequestResponse" || rule.Level == "Request" && (r.Group == "" || r.Group == "apps") {
				t.Errorf("rule %d notes content of group %q", i, r.Group)
			}
		}
	}
	if last := policy.Rules[len(policy.Rules)-1]; last.Level != "Metadata" || len(last.Resources) > 0 {
		t.Errorf("the last rule is %+v", last)
	}
}

func decoded(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAPIServerFiles(t *testing.T) {
	f, m := newFake(t)
	c := section(t, `{version: 1.36.3, audit: {policy: {rules: [{level: Request}]}}}`)
	s := APIServerFiles(m, c)
	hosttest.MustHold(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustHold(t, s.Done, true)
	if got := f.Get(auditPolicyFile); got != "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Request\n" {
		t.Errorf("the site's policy became\n%s", got)
	}
	if kubetest.Mode(t, f, leave.AuditDir) != 0o700 || kubetest.Mode(t, f, auditPolicyFile) != 0o600 {
		t.Error("others can read it")
	}
	if err := s.Undo(t.Context()); err != nil || f.Has(node.APIServerDir) || !f.Has(leave.AuditDir) {
		t.Errorf("undo: %v; the log's directory is data, and the rest is not", err)
	}

	f, m = newFake(t)
	s = APIServerFiles(m, section(t, `{version: 1.36.3, audit: {log: none}}`))
	if err := s.Run(t.Context()); err != nil || f.Has(leave.AuditDir) || f.Has(auditPolicyFile) {
		t.Errorf("no log, but its files (%v)", err)
	}
	hosttest.MustHold(t, s.Done, true)
}
