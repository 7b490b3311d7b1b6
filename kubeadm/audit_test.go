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
		t.Errorf("got %d bytes with a log, want %d", got, 11*100<<20)
	}
	if got := section(t, `{version: 1.36.3, audit: {log: none}}`).Audit.Bytes(); got != 0 {
		t.Errorf("got %d bytes without a log, want 0", got)
	}
}

// TestAuditPolicyLogsNoSecret: airgap's policy logs objects with secrets without their content,
// and no earlier rule can skip them.
func TestAuditPolicyLogsNoSecret(t *testing.T) {
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
		t.Errorf("got %+v as the first rule, want Metadata for secrets", first)
	}
	for i, rule := range policy.Rules {
		for _, r := range rule.Resources {
			if rule.Level == "RequestResponse" || rule.Level == "Request" && (r.Group == "" || r.Group == "apps") {
				t.Errorf("rule %d logs the content of group %q", i, r.Group)
			}
		}
	}
	if last := policy.Rules[len(policy.Rules)-1]; last.Level != "Metadata" || len(last.Resources) > 0 {
		t.Errorf("got %+v as the last rule, want Metadata for all resources", last)
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
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if got := f.Get(auditPolicyFile); got != "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Request\n" {
		t.Errorf("got this file for the site's policy:\n%s", got)
	}
	if kubetest.Mode(t, f, leave.AuditDir) != 0o700 || kubetest.Mode(t, f, auditPolicyFile) != 0o600 {
		t.Error("users other than root can read the audit files")
	}
	if err := s.Undo(t.Context()); err != nil || f.Has(node.APIServerDir) || !f.Has(leave.AuditDir) {
		t.Errorf("undo: %v; want only the log's directory to remain", err)
	}

	f, m = newFake(t)
	s = APIServerFiles(m, section(t, `{version: 1.36.3, audit: {log: none}}`))
	if err := s.Run(t.Context()); err != nil || f.Has(leave.AuditDir) || f.Has(auditPolicyFile) {
		t.Errorf("without a log: got %v and audit files %v, want none", err, f.Has(leave.AuditDir) || f.Has(auditPolicyFile))
	}
	hosttest.MustBeDone(t, s.Done, true)
}
