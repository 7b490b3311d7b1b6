package preflight

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestConfigValidate(t *testing.T) {
	tests := []struct {
		name, check string
		pairs       []string
		want        string // substring of the only error; "" for none
	}{
		{"nothing", "memory", nil, ""},
		{"every unit", "disk-space", []string{"etcdFail", "4GB", "usedFail", "90%", "severity", "fail"}, ""},
		{"a count", "cpu-count", []string{"fail", "1"}, ""},
		{"any check's severity", "time-sync", []string{"severity", "warn"}, ""},
		{"no such check", "time-synk", []string{"severity", "warn"}, "preflight.checks.time-synk"},
		{"no such setting", "memory", []string{"etcdFail", "4GB"}, "does not have this setting"},
		{"no such severity", "time-sync", []string{"severity", "skip"}, "expected fail or warn"},
		{"invalid size", "memory", []string{"fail", "lots"}, "preflight.checks.memory.fail"},
		{"negative size", "memory", []string{"fail", "-1GB"}, "want a size"},
		{"size larger than any disk", "memory", []string{"fail", "99999999TB"}, "larger than any disk"},
		{"fraction of a CPU", "cpu-count", []string{"fail", "1.5"}, "whole number"},
		{"percent without its sign", "disk-space", []string{"usedFail", "90"}, "0% to 100%"},
		{"more than 100%", "disk-space", []string{"usedFail", "101%"}, "0% to 100%"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			errs := site(test.check, test.pairs...).Validate(field.NewPath("preflight"))
			switch {
			case test.want == "" && len(errs) > 0:
				t.Errorf("got %v", errs)
			case test.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), test.want)):
				t.Errorf("got %v, want one error with %q", errs, test.want)
			}
		})
	}
}

// TestSchemaHasEverySetting: the schema and Validate have the same settings.
func TestSchemaHasEverySetting(t *testing.T) {
	data, err := json.Marshal(Settings{}.JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Properties map[string]struct {
				Type, Description string
				Pattern           string
			}
			AdditionalProperties *bool
		}
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for _, c := range Checks() {
		s, ok := schema.Properties[c.ID]
		if !ok || s.AdditionalProperties == nil || *s.AdditionalProperties {
			t.Errorf("check %s is not in the schema, or allows any setting", c.ID)
		}
		if len(s.Properties) != len(c.Limits)+1 {
			t.Errorf("check %s has %d settings in the schema, %d limits and severity in the list", c.ID, len(s.Properties), len(c.Limits))
		}
		for name, p := range s.Properties {
			if p.Type == "" || p.Description == "" {
				t.Errorf("check %s, setting %s: %+v has an empty field", c.ID, name, p)
			}
		}
	}
}

// TestFormerID: the ID of the last release still selects a check and its settings.
func TestFormerID(t *testing.T) {
	for _, c := range Checks() {
		if c.Former == "" {
			continue
		}
		if len(c.Limits) > 0 {
			t.Errorf("%s has limits, and Want.limit does not read them under the old ID", c.ID)
		}
		site := Config{Checks: Settings{c.Former: {severity: "warn"}}}
		if errs := site.Validate(field.NewPath("preflight")); len(errs) > 0 {
			t.Errorf("%s: %v", c.Former, errs)
		}
		failed := CrossHost{c.ID: {Status: Fail}}
		for _, test := range []struct {
			choice Choice
			want   Status
		}{
			{Choice{Only: []string{c.Former}}, Warn},
			{Choice{Only: []string{c.Former}, Skip: []string{c.Former}}, Skip},
		} {
			r, err := RunCrossHost(t.Context(), failed, site, time.Now(), test.choice)
			if err != nil || len(r.Results) != 1 || r.Results[0].ID != c.ID || r.Results[0].Status != test.want {
				t.Errorf("%+v: got %+v (%v), want %s of %s", test.choice, r.Results, err, test.want, c.ID)
			}
		}
	}
}

func TestSeverityWarn(t *testing.T) {
	gathered := gather(t, "rocky9-unprivileged") // its time-sync is unknown
	gathered.CPUs = 1
	want := Want{Roles: []Role{ControlPlane}, Site: site("cpu-count", severity, "warn")}
	want.Site.Checks["time-sync"] = map[string]string{severity: "warn"}
	report, err := Run(context.Background(), gathered, want, Choice{})
	if err != nil {
		t.Fatal(err)
	}
	warned := ids(report, Warn)
	for _, id := range []string{"cpu-count", "time-sync"} {
		i := slices.IndexFunc(report.Results, func(e Entry) bool { return e.ID == id })
		if e := report.Results[i]; !slices.Contains(warned, id) || e.Site != "severity warn" {
			t.Errorf("%s: %+v, want a warning that shows the site's setting", id, e)
		}
	}
	if !slices.Contains(ids(report, Error), "selinux") {
		t.Error("the setting also changed another check")
	}
}
