package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
)

// Annotations of a Node, by which an upgrade knows how far each host is, whoever
// works on it. The value is the ID of a bundle.
const (
	bundleNote   = "airgap.dev/bundle"   // the host is as this one says; it says so itself
	preparedNote = "airgap.dev/prepared" // the host has what it needs of this one; it says so itself
	upgradeNote  = "airgap.dev/upgrade"  // the host may be upgraded to this one now, for its pods are elsewhere
)

// noteStep has this host say something of itself, with the kubelet's identity.
func (s *site) noteStep(name, title, key string) step.Step {
	return step.Step{
		Name: name, Title: title,
		Done: func(ctx context.Context) (bool, error) {
			have, err := s.ownNote(ctx, key)
			return err == nil && have == s.index.ID(), err
		},
		Plan: func(context.Context) ([]string, error) {
			return []string{"annotate node " + s.node.Name + " with " + key}, nil
		},
		Run: func(ctx context.Context) error {
			client, err := s.machine.Client(kubeadm.KubeletConf)
			if err != nil {
				return err
			}
			return annotate(ctx, client, s.node.Name, key, s.index.ID())
		},
	}
}

// ownNote is an annotation of this host's Node, as the kubelet may read it.
func (s *site) ownNote(ctx context.Context, key string) (string, error) {
	client, err := s.machine.Client(kubeadm.KubeletConf)
	if err != nil {
		return "", err
	}
	node, err := patiently(ctx, func(ctx context.Context) (map[string]string, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, s.node.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return node.Annotations, nil
	})
	if err != nil {
		return "", fmt.Errorf("ask for this host's own Node: %w", err)
	}
	return node[key], nil
}

func annotate(ctx context.Context, client kubernetes.Interface, node, key, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := patiently(ctx, func(ctx context.Context) (any, error) {
		return client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	})
	if err != nil {
		return fmt.Errorf("annotate node %s with %s: %w", node, key, err)
	}
	return nil
}
