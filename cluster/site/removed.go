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

// RemovedName is the name of the file that lists the removed nodes, because the signed configuration still
// lists them as nodes. It is in JoinDir for hosts that join, and in IndexDir on hosts that joined. It is a
// copy of the cluster's record (leave.Removed). The record has precedence if an API server answers.
const RemovedName = "removed.json"

// recordedRemoved returns the removed nodes according to the files of this host.
func recordedRemoved() ([]string, error) {
	for _, dir := range []string{JoinDir, IndexDir} {
		data, err := os.ReadFile(filepath.Join(dir, RemovedName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the list of removed nodes: %w", err)
		}
		return ParseRemoved(data)
	}
	return nil, nil
}

// ParseRemoved reads the content of the file RemovedName: a JSON array of names.
func ParseRemoved(data []byte) (names []string, err error) {
	if err := json.Unmarshal(data, &names); err != nil {
		return nil, fmt.Errorf("read the list of removed nodes: %w", err)
	}
	return names, nil
}

// Without returns the site without the removed nodes in its configuration. This host always stays in it,
// because it may be joining again.
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

// Keeping returns the site with only this host and these nodes in its configuration. Unlike Without, it records no removal.
func (s *Site) Keeping(names []string) *Site {
	s = s.configured()
	s.Config.Nodes = slices.DeleteFunc(slices.Clone(s.Config.Nodes), func(n config.Node) bool {
		return n.Name != s.Node.Name && !slices.Contains(names, n.Name)
	})
	return s
}

// Listed returns a node of airgap.yaml, even if it was removed.
func (s *Site) Listed(name string) (config.Node, error) {
	return (&config.Cluster{Nodes: s.Nodes}).Node(name)
}

// FetchRemoved reads the removed nodes from the cluster and returns the site without them. If the cluster
// does not answer within 10 seconds, it returns s, which knows the list of this host.
func (s *Site) FetchRemoved(ctx context.Context, client kubernetes.Interface) (*Site, error) {
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
