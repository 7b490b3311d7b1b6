package kubeadm

import (
	_ "embed"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/leave"
)

// Values of Audit.Log.
const (
	AuditFile = "file"
	NoAudit   = "none"
)

const auditLog = leave.AuditDir + "/audit.log"

//go:embed audit-policy.yaml
var auditPolicy []byte

// Audit is kubernetes.audit of airgap.yaml.
type Audit struct {
	Log        string         `yaml:"log,omitempty" json:"log,omitempty" jsonschema:"enum=file,enum=none,default=file" jsonschema_description:"Destination of the audit log."`
	Policy     map[string]any `yaml:"policy,omitempty" json:"policy,omitempty" jsonschema_description:"Audit Policy (audit.k8s.io/v1) that replaces airgap's. airgap's policy logs user, action and object of each request and the content of permission changes, and never the content of Secrets, ConfigMaps or tokens."`
	MaxAge     int            `yaml:"maxAge,omitempty" json:"maxAge,omitempty" jsonschema:"minimum=1,default=30" jsonschema_description:"Days to keep an old log file."`
	MaxBackups int            `yaml:"maxBackups,omitempty" json:"maxBackups,omitempty" jsonschema:"minimum=1,default=10" jsonschema_description:"Number of old log files to keep. Older files are deleted also before maxAge."`
	MaxSize    int            `yaml:"maxSize,omitempty" json:"maxSize,omitempty" jsonschema:"minimum=1,default=100" jsonschema_description:"Size in megabytes at which the API server starts a new log file."`
}

// Default sets empty fields to the values of the CIS benchmark.
func (a *Audit) Default() {
	if a.Log == "" {
		a.Log = AuditFile
	}
	for _, d := range []struct {
		value     *int
		byDefault int
	}{{&a.MaxAge, 30}, {&a.MaxBackups, 10}, {&a.MaxSize, 100}} {
		if *d.value == 0 {
			*d.value = d.byDefault
		}
	}
}

// Bytes is the maximum size of the log on disk: the current file and the old ones.
func (a Audit) Bytes() int64 {
	if a.Log == NoAudit {
		return 0
	}
	return int64(a.MaxBackups+1) * int64(a.MaxSize) << 20
}

// policy is the file that the API server reads.
func (a Audit) policy() ([]byte, error) {
	if len(a.Policy) == 0 {
		return auditPolicy, nil
	}
	text, err := yaml.Marshal(overlay.Merge(object{"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}, a.Policy))
	if err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	return text, nil
}

func (a Audit) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if a.Log != AuditFile && a.Log != NoAudit {
		errs = append(errs, field.NotSupported(at.Child("log"), a.Log, []string{AuditFile, NoAudit}))
	}
	for _, number := range []struct {
		name  string
		value int
	}{{"maxAge", a.MaxAge}, {"maxBackups", a.MaxBackups}, {"maxSize", a.MaxSize}} {
		if number.value < 1 { // the API server takes 0 for "without limit"
			errs = append(errs, field.Invalid(at.Child(number.name), number.value, "must be at least 1"))
		}
	}
	if len(a.Policy) > 0 {
		errs = append(errs, validatePolicy(at.Child("policy"), a.Policy)...)
	}
	return errs
}

// validatePolicy finds errors with which the API server does not start. kubeadm would only
// report a timeout.
func validatePolicy(at *field.Path, policy map[string]any) field.ErrorList {
	var errs field.ErrorList
	for key, want := range map[string]string{"apiVersion": "audit.k8s.io/v1", "kind": "Policy"} {
		if have, there := policy[key]; there && have != want {
			errs = append(errs, field.Invalid(at.Child(key), have, "must be "+want))
		}
	}
	rules, _ := policy["rules"].([]any)
	if len(rules) == 0 {
		return append(errs, field.Required(at.Child("rules"), "a policy without rules logs nothing: add a rule, or set audit.log: none"))
	}
	levels := []string{"None", "Metadata", "Request", "RequestResponse"}
	for i, item := range rules {
		rule, _ := item.(map[string]any)
		if level, _ := rule["level"].(string); !slices.Contains(levels, level) {
			errs = append(errs, field.NotSupported(at.Child("rules").Index(i).Child("level"), level, levels))
		}
	}
	return errs
}

// refuse forbids a policy that logs nothing: audit.log: none is the setting for that.
func (a Audit) refuse(at *field.Path) field.ErrorList {
	if rules, _ := a.Policy["rules"].([]any); a.Log != NoAudit && len(rules) > 0 && logsNothing(rules) {
		return field.ErrorList{field.Forbidden(at, "these rules log nothing, because the first rule that matches decides: change them, or set audit.log: none")}
	}
	return nil
}

// logsNothing reports whether rules log no event. The first rule that matches decides, and a
// rule without a selector matches every event.
func logsNothing(rules []any) bool {
	for _, item := range rules {
		rule, _ := item.(map[string]any)
		if rule["level"] != "None" {
			return false
		}
		selects := slices.ContainsFunc([]string{"users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs"}, func(key string) bool { return rule[key] != nil })
		if !selects {
			return true
		}
	}
	return true // an event that matches no rule is not logged
}
