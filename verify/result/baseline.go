package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Form of a baseline's file. What is added to it later is left out by older
// programs; what changes its meaning gets another version.
const (
	baselineVersion = "airgap.dev/v1alpha1"
	baselineKind    = "VerifyBaseline"
	maxBaseline     = 1 << 30 // bytes
)

// Baseline is a cluster before a change, to tell afterwards what the change
// broke.
type Baseline struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Cluster is the UID of the namespace kube-system, which no other cluster has.
	Cluster string `json:"cluster"`
	// Namespaces are the only ones that it is of; none: it is of the whole cluster. An
	// older airgap does not say (nil).
	Namespaces []string `json:"namespaces"`

	Taken    time.Time      `json:"taken"`
	About    About          `json:"about"`
	OK       bool           `json:"ok"` // the verdict of then
	Findings []KnownFinding `json:"findings"`
	// Unseen says what rules missed then, by id: "no NodeReport: w2". An older airgap does
	// not say (nil).
	Unseen   map[string]string `json:"unseen,omitempty"`
	Snapshot Snapshot          `json:"snapshot"`
}

// KnownFinding is a finding with the name that its object's successors share.
type KnownFinding struct {
	Finding
	Lasting string `json:"lasting"` // "Pod of DaemonSet kube-system/kube-proxy on w1"
}

// ReadBaseline reads what Write wrote. The error says what else it is.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxBaseline:
		return nil, fmt.Errorf("larger than a baseline can be (%d bytes)", maxBaseline)
	case len(data) == 0:
		return nil, errors.New("it is empty")
	}
	var b Baseline
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("damaged, or no baseline: %w", err)
	}
	switch {
	case b.Kind != baselineKind:
		return nil, fmt.Errorf("no baseline of airgap verify: kind %q, want %q", b.Kind, baselineKind)
	case b.APIVersion != baselineVersion:
		return nil, fmt.Errorf("a baseline of another release of airgap: apiVersion %q, want %q", b.APIVersion, baselineVersion)
	case b.Cluster == "" || b.Taken.IsZero() || b.Snapshot.Nodes == nil || b.Snapshot.Workloads == nil || b.Snapshot.Containers == nil:
		return nil, errors.New("damaged: the cluster, the time or the snapshot is missing")
	}
	return &b, nil
}

// Write writes the baseline as JSON.
func (b Baseline) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(b)
}

// NewBaseline is what the report saw last of the cluster with this id. It is
// nil where the cluster was never seen.
func NewBaseline(r Report, cluster string) *Baseline {
	if r.Snapshot == nil {
		return nil
	}
	return &Baseline{
		APIVersion: baselineVersion, Kind: baselineKind, Cluster: cluster, Taken: r.Began.Add(r.Took).Round(time.Second),
		About: r.About, OK: r.OK, Findings: r.Lasting, Unseen: r.Missed, Snapshot: *r.Snapshot,
	}
}
