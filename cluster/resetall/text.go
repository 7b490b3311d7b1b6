package resetall

import (
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/reset"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/ui"
)

// Plan has the hosts in the order of their reset.
type Plan struct {
	Cluster      string      `json:"cluster"`
	Workers      []string    `json:"workers"`
	ControlPlane []string    `json:"controlPlane"` // one after the other
	Last         string      `json:"last"`         // this host
	Unreached    []Unreached `json:"unreached"`    // hosts without a connection
	Absent       []string    `json:"absent"`       // by airgap.yaml: they are not reset
	Wipe         bool        `json:"wipe"`
}

// Unreached is a host without a connection.
type Unreached struct {
	Host    string `json:"host"`
	Address string `json:"address"`
	Error   string `json:"error"`
}

// Answer is the text that confirms the plan: the cluster and the number of its hosts.
func (p Plan) Answer() string {
	if p.Cluster == "" { // only this host is left
		return "yes"
	}
	return fmt.Sprintf("%s %d", p.Cluster, len(p.Workers)+len(p.ControlPlane)+len(p.Unreached)+1)
}

// Write writes the plan before the confirmation.
func (p Plan) Write(w io.Writer) error {
	if p.Cluster == "" {
		_, err := fmt.Fprintln(w, "airgap reset --all-hosts has reset the other hosts. It now continues on this host.")
		return err
	}
	fmt.Fprintf(w, "airgap reset --all-hosts ends the cluster %s. It deletes all pods, and undoes the changes of airgap in this order:\n", p.Cluster)
	for _, part := range []struct {
		title string
		hosts []string
	}{{"workers", p.Workers}, {"control plane, one after the other", p.ControlPlane}, {"this host, if all others are reset", []string{p.Last}}} {
		if len(part.hosts) > 0 {
			fmt.Fprintf(w, "  %s: %s\n", part.title, alike.Name(part.hosts))
		}
	}
	if len(p.Unreached) > 0 {
		var said []alike.Said
		for _, u := range p.Unreached {
			said = append(said, alike.Said{Host: u.Host, Address: u.Address, Text: u.Error})
		}
		fmt.Fprintf(w, "There is no connection to %s:\n%s\n", ui.Count(len(said), "host"), strings.Join(alike.Lines(said, "--dry-run --output json has them"), "\n"))
	}
	if len(p.Absent) > 0 {
		fmt.Fprintf(w, "It does not reset %s, absent by airgap.yaml.\n", alike.Name(p.Absent))
	}
	data := "It keeps bundles, pushed images, backups, etcd data, images and logs (--wipe-data deletes them)."
	if p.Wipe {
		data = "It also DELETES bundles, pushed images, backups, etcd data, images and logs."
	}
	_, err := fmt.Fprintln(w, data)
	return err
}

// Result has the hosts in the order of airgap.yaml, and this host at the end.
type Result struct {
	Hosts []fleet.HostReset `json:"hosts"`
	Left  string            `json:"left,omitempty"` // this host, if it is not reset
}

// Began reports whether the run began to change hosts.
func (r Result) Began() bool { return len(r.Hosts) > 0 }

// Write writes the hosts that were reset, equal hosts together. The error has the others.
func (r Result) Write(w io.Writer) error {
	var said []alike.Said
	for _, h := range r.Hosts {
		if h.Error == "" {
			said = append(said, alike.Said{Host: h.Host, Text: says(h)})
		}
	}
	if len(said) > 0 {
		fmt.Fprintln(w, strings.Join(alike.Lines(said, "--output json has them"), "\n"))
	}
	hosts := len(r.Hosts)
	if r.Left != "" {
		hosts++
	}
	_, err := fmt.Fprintf(w, "%d of %s are reset\n", len(said), ui.Count(hosts, "host"))
	if r.Left != "" {
		_, err = fmt.Fprintf(w, "%s is not reset\n", r.Left)
	}
	return err
}

func says(h fleet.HostReset) string {
	text := "nothing to undo"
	if h.Undone > 0 {
		text = "undone: " + ui.Count(h.Undone, "step")
	}
	if len(h.Deleted) > 0 {
		text += "; deleted: " + strings.Join(h.Deleted, ", ")
	}
	if len(h.Kept) > 0 {
		text += "; kept: " + strings.Join(h.Kept, ", ")
	}
	return text
}

// Forecast is the result of --dry-run.
type Forecast struct {
	Cluster string     `json:"cluster"`
	Hosts   []HostPlan `json:"hosts"` // this host last
}

// HostPlan is the plan of one host.
type HostPlan struct {
	Host  string      `json:"host"`
	Plan  *reset.Plan `json:"plan,omitempty"`
	Error string      `json:"error,omitempty"` // why there is no plan
}

// Write writes the plans, equal hosts together.
func (f Forecast) Write(w io.Writer) error {
	var said []alike.Said
	for _, h := range f.Hosts {
		said = append(said, alike.Said{Host: h.Host, Text: h.says()})
	}
	_, err := fmt.Fprintf(w, "airgap reset --all-hosts would change, on %s:\n%s\nnothing was changed\n",
		ui.Count(len(said), "host"), strings.Join(alike.Lines(said, "--output json has them"), "\n"))
	return err
}

func (h HostPlan) says() string {
	if h.Plan == nil {
		return "not known: " + h.Error
	}
	if len(h.Plan.Steps)+len(h.Plan.Delete) == 0 {
		return "nothing to undo"
	}
	var names []string
	for _, s := range h.Plan.Steps {
		names = append(names, s.Step)
	}
	text := fmt.Sprintf("%s to undo: %s", ui.Count(len(names), "step"), strings.Join(names, ", "))
	if len(h.Plan.Delete) > 0 {
		text += "\ndelete: " + strings.Join(h.Plan.Delete, ", ")
	}
	if len(h.Plan.Keep) > 0 {
		text += "\nkeep: " + strings.Join(h.Plan.Keep, ", ")
	}
	return text
}
