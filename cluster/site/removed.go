package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm/leave"
)

// RemovedName is the file with the nodes that were removed from the cluster, in
// JoinDir for hosts that join, and on those in IndexDir: the signed configuration
// goes on to list them. It is a copy of the cluster's record (leave.Removed), which counts
// wherever an API server answers.
const RemovedName = "removed.json"

// recordedRemoved are those that this host knows of.
func recordedRemoved() ([]string, error) {
	for _, dir := range []string{JoinDir, IndexDir} {
		data, err := os.ReadFile(filepath.Join(dir, RemovedName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read which nodes were removed: %w", err)
		}
		return ParseRemoved(data)
	}
	return nil, nil
}

// ParseRemoved reads the file below JoinDir.
func ParseRemoved(data []byte) (names []string, err error) {
	if err := json.Unmarshal(data, &names); err != nil {
		return nil, fmt.Errorf("read which nodes were removed: %w", err)
	}
	return names, nil
}

// Without returns the site whose configuration lists all nodes but those that were removed.
// This host itself stays: it may be about to come back.
func (s *Site) Without(removed []string) *Site {
	s = s.configured()
	s.Removed = nil
	s.Config.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(n config.Node) bool {
		gone := n.Name != s.Node.Name && slices.Contains(removed, n.Name)
		if gone {
			s.Removed = append(s.Removed, n.Name)
		}
		return gone
	})
	slices.Sort(s.Removed)
	return s
}

// Listed is a node of airgap.yaml, removed or not.
func (s *Site) Listed(name string) (config.Node, error) {
	return (&config.Cluster{Nodes: s.Nodes}).Node(name)
}

// AskRemoved asks the cluster which nodes were removed, and returns the site without them.
// Where it does not answer, that is what this host knows.
func (s *Site) AskRemoved(ctx context.Context, client kubernetes.Interface) (*Site, error) {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	removed, err := leave.Removed(limited, client)
	if err != nil {
		return s, ctx.Err()
	}
	return s.Without(removed), nil
}

// RemovedFile returns the content that ParseRemoved reads.
func (s *Site) RemovedFile() ([]byte, error) { return json.Marshal(append([]string{}, s.Removed...)) }
