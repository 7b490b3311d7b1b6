package nodesteps

import (
	"context"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
)

// NoteStep has this host say something of itself, with the kubelet's identity.
func NoteStep(s *site.Site, name, title, key string) step.Step {
	return step.Step{
		Name: name, Title: title,
		Done: func(ctx context.Context) (bool, error) {
			have, err := s.OwnNote(ctx, key)
			return err == nil && have == s.Index.ID(), err
		},
		Plan: func(context.Context) ([]string, error) {
			return []string{"annotate node " + s.Node.Name + " with " + key}, nil
		},
		Run: func(ctx context.Context) error {
			client, err := kube.Client(s.Machine.Machine, kube.KubeletConf)
			if err != nil {
				return err
			}
			return site.Annotate(ctx, client, s.Node.Name, key, s.Index.ID())
		},
	}
}
