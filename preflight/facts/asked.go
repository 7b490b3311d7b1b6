package facts

import (
	"strings"
	"time"
)

// Asked has the facts that are not in the files of a host: results of tests on the host, and
// answers of other servers. The caller gathers them before the checks run, and only for the
// chosen checks (Choice.Judges). A survey has none of them.
type Asked struct {
	GPUs *GPUs // nil if they were not identified

	// EtcdDisk is the 99th percentile of the time for a small write with fdatasync on etcd's disk.
	EtcdDisk        time.Duration
	EtcdDiskOutcome Outcome

	// MissingImages are the images that the site registry does not have.
	MissingImages        []string
	MissingImagesOutcome Outcome

	// Transaction is the dry run of the dnf transaction for the bundle's packages.
	Transaction Outcome

	PodPath PodPath

	// ClosedPorts are the cluster's ports that a rule of the packet filter closes, although install
	// opens them in firewalld.
	ClosedPorts []ClosedPorts

	NameServers NameAnswers

	// EndpointInUse is true if an API server already answers at Want.NewEndpoint.
	EndpointInUse bool
}

// GPUs describes a host's GPUs and the loaded driver, as package gpu identifies them.
type GPUs struct {
	Free, Reserved string // GPUs for containers, and GPUs reserved for virtual machines; "" for none
	Driver         string // the loaded driver; "" for none, or for an unknown one
	Required       string // the driver that the GPUs require instead; "" if the loaded one supports them
	Unknown        string // why the loaded driver is unknown
}

// ClosedPorts are the ports that one rule closes.
type ClosedPorts struct {
	Rule  string // the rule, with its chain and table
	Table string // "inet firewalld"
	Ports []string
}

// String names the ports and the rule.
func (c ClosedPorts) String() string { return strings.Join(c.Ports, ", ") + ": closed by " + c.Rule }

// Outcome is the result of a test on the host. The zero value is a test that did not run.
type Outcome struct {
	Done    bool
	Failed  string // the cause of the failure; "" for success
	Skipped string // why the test did not run; "" if no reason is known
}

// PodPath is the way of packets between two network namespaces through this host, tried with
// addresses of the pod subnet before a cluster exists. Package podpath tries it.
type PodPath struct {
	Outcome Outcome
	// Lost are the connections that did not pass: "TCP between pods".
	Lost []string
	// Rules are the rules that dropped the packets, with their chains; none if they are not known.
	Rules []string
}

// Passed reports whether all packets passed the host's own rules.
func (p PodPath) Passed() bool { return p.Outcome.Done && p.Outcome.Failed == "" && len(p.Lost) == 0 }

// OutcomeOf is the outcome of a test that ran and returned err.
func OutcomeOf(err error) Outcome {
	if err != nil {
		return Outcome{Done: true, Failed: err.Error()}
	}
	return Outcome{Done: true}
}
