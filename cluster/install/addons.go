package install

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/manifests"
)

// addonSteps is the step of the add-ons, or none where there are none.
func addonSteps(s *site.Site, from nodesteps.Source) []step.Step {
	if len(s.Index.Lock.Addons) == 0 {
		return nil
	}
	a := addons{locked: s.Index.Lock.Addons, read: from, connect: func() (*rest.Config, error) { return kube.RESTConfig(s.Machine.Machine, kube.AdminConf) }}
	return []step.Step{a.step()}
}

// addons has the add-ons of the bundle.
type addons struct {
	locked  []bundle.Addon
	read    nodesteps.Source
	connect func() (*rest.Config, error)
}

// step applies the objects that were rendered when the bundle was built. It
// does not wait for their pods, which may need a host that has not joined yet.
// It has no undo: a reset of the hosts removes the cluster.
func (a addons) step() step.Step {
	names := make([]string, len(a.locked))
	for i, one := range a.locked {
		names[i] = one.Name
	}
	return step.Step{
		Name:  "addons",
		Title: "Install the add-ons (" + strings.Join(names, ", ") + ")",
		Done: func(ctx context.Context) (bool, error) {
			done := true
			err := a.applied(ctx, func(t manifests.Target, objects []*unstructured.Unstructured) (err error) {
				if done {
					done, err = t.Current(ctx, objects)
				}
				return err
			})
			return done && err == nil, err
		},
		Plan: a.plan,
		Run:  a.run,
	}
}

// run applies the definitions of all add-ons first: a chart was rendered for the kinds of
// those behind it, too.
func (a addons) run(ctx context.Context) error {
	apply := func(t manifests.Target, objects []*unstructured.Unstructured) error {
		_, err := t.Apply(ctx, objects)
		return err
	}
	err := a.applied(ctx, func(t manifests.Target, objects []*unstructured.Unstructured) error {
		return apply(t, slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
			return !workload.Object{Unstructured: o}.IsDefinition()
		}))
	})
	if err != nil {
		return err
	}
	return a.applied(ctx, apply)
}

// applied calls use for every add-on with the cluster that it belongs in.
func (a addons) applied(ctx context.Context, use func(manifests.Target, []*unstructured.Unstructured) error) error {
	api, err := a.connect()
	if err != nil {
		return err
	}
	return a.each(ctx, func(namespace string, objects []*unstructured.Unstructured) error {
		return use(manifests.Target{Config: api, Namespace: namespace}, objects)
	})
}

// each calls use for every add-on, in their order, while it succeeds.
func (a addons) each(ctx context.Context, use func(namespace string, objects []*unstructured.Unstructured) error) error {
	for _, one := range a.locked {
		objects, err := objects(ctx, a.read, one)
		if err == nil {
			err = use(one.Namespace, objects)
		}
		if err != nil {
			return fmt.Errorf("add-on %s: %w", one.Name, err)
		}
	}
	return nil
}

// plan lists the objects that are written: all of them while there is no API
// server to ask.
func (a addons) plan(ctx context.Context) ([]string, error) {
	api, errAPI := a.connect()
	var changes []string
	err := a.each(ctx, func(namespace string, objects []*unstructured.Unstructured) (err error) {
		pending := manifests.Titles(objects)
		if errAPI == nil {
			pending, err = manifests.Target{Config: api, Namespace: namespace}.Pending(ctx, objects)
		}
		for _, title := range pending {
			changes = append(changes, "apply "+title)
		}
		return err
	})
	return changes, cmp.Or(err, errAPI)
}

// objects reads the objects of an add-on and checks them against the lock.
func objects(ctx context.Context, open nodesteps.Source, one bundle.Addon) ([]*unstructured.Unstructured, error) {
	file, err := open(ctx, one.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, one.Size+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", one.Path, err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != one.SHA256 {
		return nil, fmt.Errorf("read %s: its SHA-256 is not the locked one", one.Path)
	}
	objects, err := manifests.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", one.Path, err)
	}
	return objects, nil
}
