// Package cni chooses the pod network and brings it to the cluster.
//
// What flows in is the section network of airgap.yaml and the pod subnet;
// what flows out are the images to bundle, the objects to apply, and the
// step that applies them. One file a plugin; the YAML lies in manifests.
//
// There is no IP-in-IP, under no setting: banks' networks drop protocol 4.
// Only IPv4 for now.
package cni

import (
	"context"
	"fmt"
	"net/netip"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Images are the references a node needs for the pod network, by tag as
// their projects publish them.
func Images(Config) []string { return flannelImages() }

// Objects are what the cluster needs for the pod network, in the order to
// apply. podSubnet is the cluster's, as in kubernetes.podSubnet.
func Objects(config Config, podSubnet string) ([]*unstructured.Unstructured, error) {
	subnet, err := parseSubnet(podSubnet)
	if err != nil {
		return nil, err
	}
	return flannelObjects(config, subnet)
}

// Traces are what pod networks leave on a host, whichever plugin it was. A
// kind of their own, since no package but the caller knows both sides.
type Traces struct {
	Links, Tables, Chains, Paths, Dirs, Data []string // as kubeadm.Traces
}

// Leaves are the traces of every plugin there is: a host is also cleaned when
// nobody can tell any more which one it had.
func Leaves() Traces { return flannelLeaves() }

// Step applies the objects. connect is called when the step's turn has come,
// since there is no API server before; the step has nothing of its own to
// undo, because resetting the hosts takes the cluster with it.
func Step(config Config, podSubnet string, connect func() (*rest.Config, error)) step.Step {
	with := func(use func(*rest.Config, []*unstructured.Unstructured) error) error {
		objects, err := Objects(config, podSubnet)
		if err != nil {
			return err
		}
		api, err := connect()
		if err != nil {
			return err
		}
		return use(api, objects)
	}
	return step.Step{
		Name:  "network",
		Title: "Bring up the pod network (" + config.Plugin + ", VXLAN)",
		Done: func(ctx context.Context) (current bool, err error) {
			err = with(func(api *rest.Config, objects []*unstructured.Unstructured) (err error) {
				current, err = manifests.Current(ctx, api, objects)
				return err
			})
			return current, err
		},
		Plan: func(ctx context.Context) ([]string, error) { return plan(ctx, config, podSubnet, connect) },
		Run: func(ctx context.Context) error {
			return with(func(api *rest.Config, objects []*unstructured.Unstructured) error {
				_, err := manifests.Apply(ctx, api, objects)
				return err
			})
		},
	}
}

// plan lists the objects that are written: all of them while there is no API
// server to ask.
func plan(ctx context.Context, config Config, podSubnet string, connect func() (*rest.Config, error)) ([]string, error) {
	objects, err := Objects(config, podSubnet)
	if err != nil {
		return nil, err
	}
	api, err := connect()
	pending := manifests.Titles(objects)
	if err == nil {
		pending, err = manifests.Pending(ctx, api, objects)
	}
	for i := range pending {
		pending[i] = "apply " + pending[i]
	}
	return pending, err
}

func parseSubnet(text string) (netip.Prefix, error) {
	subnet, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("parse pod subnet: %w", err)
	}
	if !subnet.Addr().Is4() || subnet.Masked() != subnet {
		return netip.Prefix{}, fmt.Errorf("parse pod subnet: %s is not an IPv4 network address", text)
	}
	return subnet, nil
}
