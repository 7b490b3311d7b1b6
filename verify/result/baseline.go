package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The file format of a baseline. Older programs ignore new fields. A field with another meaning
// needs a new version.
const (
	baselineVersion = "airgap.dev/v1alpha1"
	baselineKind    = "VerifyBaseline"
	maxBaseline     = 1 << 30 // bytes
)

// Baseline is the state of a cluster before a change. A later run compares with it to find the
// faults of the change.
type Baseline struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Cluster is the UID of the namespace kube-system, which is unique for each cluster.
	Cluster string `json:"cluster"`
	// Namespaces limit the baseline; empty: it has the whole cluster; nil: an older airgap wrote the
	// file.
	Namespaces []string `json:"namespaces"`

	Taken    time.Time      `json:"taken"`
	About    About          `json:"about"`
	OK       bool           `json:"ok"` // the result of verify at that time
	Findings []KnownFinding `json:"findings"`
	// Unseen has the missing objects by rule id: "no NodeReport: w2"; nil: an older airgap wrote the
	// file.
	Unseen   map[string]string `json:"unseen,omitempty"`
	Snapshot Snapshot          `json:"snapshot"`
}

// KnownFinding is a finding with a name that stays the same if its object is replaced.
type KnownFinding struct {
	Finding
	StableName string `json:"lasting"` // "Pod of DaemonSet kube-system/kube-proxy on w1"
}

// ReadBaseline reads a file that Write wrote. The error describes why it is not a baseline.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxBaseline:
		return nil, fmt.Errorf("the file is larger than %d bytes", maxBaseline)
	case len(data) == 0:
		return nil, errors.New("the file is empty")
	}
	var b Baseline
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("the file is damaged or not a baseline: %w", err)
	}
	switch {
	case b.Kind != baselineKind:
		return nil, fmt.Errorf("not a baseline of airgap verify: got kind %q, want %q", b.Kind, baselineKind)
	case b.APIVersion != baselineVersion:
		return nil, fmt.Errorf("the baseline is of another release of airgap: got apiVersion %q, want %q", b.APIVersion, baselineVersion)
	case b.Cluster == "" || b.Taken.IsZero() || b.Snapshot.Nodes == nil || b.Snapshot.Workloads == nil || b.Snapshot.Containers == nil:
		return nil, errors.New("the file is damaged: the cluster, the time or the snapshot is missing")
	}
	return &b, nil
}

// Write writes the baseline as JSON.
func (b Baseline) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(b)
}

// NewBaseline returns the last state in the report of the cluster with this ID, or nil if the
// report has no snapshot.
func NewBaseline(r Report, cluster string) *Baseline {
	if r.Snapshot == nil {
		return nil
	}
	return &Baseline{
		APIVersion: baselineVersion, Kind: baselineKind, Cluster: cluster, Taken: r.Began.Add(r.Took).Round(time.Second),
		About: r.About, OK: r.OK, Findings: r.KnownFindings, Unseen: r.Missed, Snapshot: *r.Snapshot,
	}
}
