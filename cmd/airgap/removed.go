package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm"
)

// removedName is the file with the nodes that were removed from the cluster, in
// joinDir for hosts that join, and on those in indexDir: the signed configuration
// goes on to list them. The cluster's own record, kubeadm.Removed, is what it comes
// from, and what counts where that can be asked.
const removedName = "removed.json"

// recordedRemoved are those that this host knows of.
func recordedRemoved() ([]string, error) {
	for _, dir := range []string{joinDir, indexDir} {
		data, err := os.ReadFile(filepath.Join(dir, removedName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read which nodes were removed: %w", err)
		}
		return parseRemoved(data)
	}
	return nil, nil
}

func parseRemoved(data []byte) (names []string, err error) {
	if err := json.Unmarshal(data, &names); err != nil {
		return nil, fmt.Errorf("read which nodes were removed: %w", err)
	}
	return names, nil
}

// leaveOut has the configuration list all nodes but those that were removed. This
// host itself stays: it may be about to come back.
func (s *site) leaveOut(removed []string) {
	s.removed = nil
	s.config.Nodes = slices.DeleteFunc(slices.Clone(s.nodes), func(n config.Node) bool {
		gone := n.Name != s.node.Name && slices.Contains(removed, n.Name)
		if gone {
			s.removed = append(s.removed, n.Name)
		}
		return gone
	})
	slices.Sort(s.removed)
}

// listed is a node of airgap.yaml, removed or not.
func (s *site) listed(name string) (config.Node, error) {
	return (&config.Cluster{Nodes: s.nodes}).Node(name)
}

// askRemoved asks the cluster which nodes were removed. One that does not answer
// leaves it at what this host knows.
func (s *site) askRemoved(ctx context.Context, client kubernetes.Interface) error {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	removed, err := kubeadm.Removed(limited, client)
	if err != nil {
		return ctx.Err()
	}
	s.leaveOut(removed)
	return nil
}

// ofThisCluster looks at the cluster that this host is of, if it is of one: it has
// to be the one that airgap.yaml describes, and may have removed some nodes.
func (s *site) ofThisCluster(ctx context.Context) error {
	joined, err := s.machine.Joined()
	if err != nil || !joined {
		return err
	}
	if err := kubeadm.SameEndpoint(s.machine, s.config.Kubernetes); err != nil {
		return err
	}
	client, err := s.machine.Client(kubeadm.AdminConf)
	if err != nil {
		return err
	}
	return s.askRemoved(ctx, client)
}

// readRemoved is empty where the registry's host has no such file.
func (h *hub) readRemoved(ctx context.Context) ([]string, error) {
	data, err := h.get(ctx, "/join/"+removedName, maxJoinFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseRemoved(data)
}

// keptIndex are the files that a worker keeps of its hub.
func (s *site) keptIndex(h *hub) map[string][]byte {
	files := map[string][]byte{}
	maps.Copy(files, h.signed)
	if text, err := s.removedFile(); err == nil { // a list of strings always can be
		files[removedName] = text
	}
	return files
}

func (s *site) removedFile() ([]byte, error) { return json.Marshal(append([]string{}, s.removed...)) }
