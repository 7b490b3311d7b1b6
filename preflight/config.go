package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// Config is the section preflight of airgap.yaml.
type Config struct {
	Checks Settings `yaml:"checks" json:"checks,omitempty" jsonschema_description:"Settings of preflight checks for this site, by check ID."`
}

// Settings has the site's settings: by check ID, then by "severity" or the name of a limit.
type Settings map[string]map[string]string

// severity is a setting of every check. With the value warn, failures and unknown results are
// warnings, and the check does not stop an installation.
const severity = "severity"

// Validate reports every unknown or invalid setting.
func (c Config) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	at = at.Child("checks")
	for _, id := range slices.Sorted(maps.Keys(c.Checks)) {
		i := slices.IndexFunc(Checks(), func(check Check) bool { return check.is(id) })
		if i < 0 {
			all = append(all, field.Invalid(at.Child(id), id, "no check has this ID (airgap preflight --list lists all)"+advice.DidYouMean(id, IDs())))
			continue
		}
		all = append(all, Checks()[i].validate(at.Child(id), c.Checks[id])...)
	}
	return all
}

func (c Check) validate(at *field.Path, settings map[string]string) field.ErrorList {
	var all field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if err := c.accept(name, settings[name]); err != nil {
			all = append(all, field.Invalid(at.Child(name), settings[name], err.Error()))
		}
	}
	return all
}

func (c Check) accept(name, value string) error {
	if name == severity {
		if value != string(Warn) && value != string(Fail) {
			return fmt.Errorf("expected %s or %s", Fail, Warn)
		}
		return nil
	}
	for _, l := range c.Limits {
		if l.Name == name {
			_, err := l.Unit.parse(value)
			return err
		}
	}
	return fmt.Errorf("check %s does not have this setting", c.ID)
}

// JSONSchema is generated from the list of checks and allows no other settings.
func (Settings) JSONSchema() *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	for _, c := range Checks() {
		properties.Set(c.ID, c.schema())
		if c.Former != "" {
			former := c.schema()
			former.Deprecated = true
			properties.Set(c.Former, former)
		}
	}
	return &jsonschema.Schema{Type: "object", Properties: properties, AdditionalProperties: jsonschema.FalseSchema}
}

func (c Check) schema() *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	properties.Set(severity, &jsonschema.Schema{Type: "string", Enum: []any{string(Fail), string(Warn)}, Default: string(Fail),
		Description: "With warn, failures and unknown results are warnings, and the check does not stop an installation."})
	for _, l := range c.Limits {
		properties.Set(l.Name, l.schema())
	}
	return &jsonschema.Schema{Type: "object", Properties: properties, AdditionalProperties: jsonschema.FalseSchema, Description: c.Title}
}

func (l Limit) schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: l.About}
	switch l.Unit {
	case Bytes:
		s.Pattern, s.Examples = ui.SizePattern, []any{"20GB", "512MiB"}
	case Percent:
		s.Pattern, s.Examples = percentPattern, []any{fmt.Sprintf("%d%%", l.Default(&Want{}))}
	case Elapsed:
		s.Pattern, s.Examples = elapsedPattern, []any{"30s", "5m"}
	default:
		s.Type, s.Minimum = "integer", "0"
	}
	return s
}

// text has the site's settings for a check, for the report: "fail 2, warn 4".
func (s Settings) text(c Check) string {
	var parts []string
	of := s.of(c)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, name+" "+of[name])
	}
	return strings.Join(parts, ", ")
}

// of returns the settings of a check. The ID of the last release still works.
func (s Settings) of(c Check) map[string]string {
	if settings, has := s[c.ID]; has {
		return settings
	}
	return s[c.Former]
}

// soften turns a failure or an unknown result into a warning if the severity of the check is warn.
func (s Settings) soften(c Check, r Result) Result {
	if s.of(c)[severity] == string(Warn) && (r.Status == Fail || r.Status == Error) {
		r.Status = Warn
	}
	return r
}
