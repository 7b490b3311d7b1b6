package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/hostrange"
)

// Absent says why a server is not there, and until when.
type Absent struct {
	Reason string `yaml:"reason" json:"reason" jsonschema:"required,example=mainboard in repair,description=Why the server is not there"`
	Until  string `yaml:"until" json:"until,omitempty" jsonschema:"example=2026-12-24" jsonschema_description:"Day on which the server is expected: YYYY-MM-DD. From this day on, airgap verify, airgap status and airgap config show say that the date is past. Without it, the node stays absent until the field is removed."`
}

// maxReason is enough for a sentence and the number of a ticket.
const maxReason = 200

func (a *Absent) validate(at *field.Path, n, master Node) field.ErrorList {
	if a == nil {
		return nil
	}
	var all field.ErrorList
	switch reason := strings.TrimSpace(a.Reason); {
	case reason == "":
		all = append(all, field.Required(at.Child("reason"), "say why the server is not there, such as: mainboard in repair, ticket 4711"))
	case len(reason) > maxReason:
		all = append(all, field.TooLong(at.Child("reason"), "", maxReason))
	}
	if _, err := time.Parse(time.DateOnly, a.Until); a.Until != "" && err != nil {
		all = append(all, field.Invalid(at.Child("until"), a.Until, "want a day such as 2026-12-24"))
	}
	if n.Name == master.Name {
		all = append(all, field.Invalid(at, n.Name, "the first control-plane node cannot be absent: it installs the cluster. Put another control-plane node first in nodes"))
	}
	return all
}

// Past reports whether the server is expected by now. Without a date it never is.
func (a *Absent) Past(now time.Time) bool {
	until, err := time.ParseInLocation(time.DateOnly, a.Until, now.Location())
	return err == nil && !now.Before(until)
}

// String is the reason with the date.
func (a *Absent) String() string {
	if a.Until == "" {
		return a.Reason
	}
	return a.Reason + ", until " + a.Until
}

// AbsentNodes are the nodes that airgap.yaml declares absent.
func (c *Cluster) AbsentNodes() []Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n Node) bool { return n.Absent == nil })
}

// PresentNodes are the other ones.
func (c *Cluster) PresentNodes() []Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n Node) bool { return n.Absent != nil })
}

// AbsentWarnings names the absent nodes whose date is past, with the next step.
func (c *Cluster) AbsentWarnings(now time.Time) []string {
	names := map[string][]string{} // by the reason with the date
	var all []string
	for _, n := range c.AbsentNodes() {
		if !n.Absent.Past(now) {
			continue
		}
		why := n.Absent.String()
		if names[why] == nil {
			all = append(all, why)
		}
		names[why] = append(names[why], n.Name)
	}
	for i, why := range all {
		all[i] = fmt.Sprintf("%s: absent (%s), and this date is past: remove nodes[].absent from airgap.yaml if the server is there, set a later date, or remove the node",
			hostrange.Join(names[why]), why)
	}
	return all
}
