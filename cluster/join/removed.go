package join

import (
	"context"
	"errors"
	"io/fs"
	"maps"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/kube"
)

// OfThisCluster checks the cluster of this host, if there is one: it must be the
// cluster of airgap.yaml. It returns the site without the nodes that the
// cluster has removed.
func OfThisCluster(ctx context.Context, s *site.Site) (*site.Site, error) {
	joined, err := s.Machine.Joined()
	if err != nil || !joined {
		return s, err
	}
	if err := kubeadm.SameEndpoint(s.Machine, s.Config.Kubernetes); err != nil {
		return nil, err
	}
	client, err := kube.Client(s.Machine.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	return s.FetchRemoved(ctx, client)
}

// readRemoved is empty where the registry's host has no such file.
func (h *Server) readRemoved(ctx context.Context) ([]string, error) {
	data, err := h.get(ctx, "/join/"+site.RemovedName, maxJoinFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return site.ParseRemoved(data)
}

// KeptIndex are the files that a worker keeps of its hub.
func KeptIndex(s *site.Site, h *Server) map[string][]byte {
	files := map[string][]byte{}
	maps.Copy(files, h.Signed)
	if text, err := s.RemovedFile(); err == nil { // a list of strings always can be
		files[site.RemovedName] = text
	}
	return files
}
