// Package krusty has the names of sigs.k8s.io/kustomize/api/krusty that k8s.io/cli-runtime, which
// drains nodes for kubectl and for airgap, needs to compile, without an implementation: airgap never passes it a
// directory for kustomize.
package krusty

import "errors"

// ReorderOption is the order of the output.
type ReorderOption string

// ReorderOptionLegacy is the one that cli-runtime asks for.
const ReorderOptionLegacy ReorderOption = "legacy"

// Options has the options of a Kustomizer.
type Options struct{ Reorder ReorderOption }

// MakeDefaultOptions returns the options in which cli-runtime sets the order.
func MakeDefaultOptions() *Options { return &Options{} }

// Kustomizer makes nothing.
type Kustomizer struct{}

// MakeKustomizer returns one that makes nothing.
func MakeKustomizer(*Options) *Kustomizer { return &Kustomizer{} }

// Made is the output of a Kustomizer.
type Made struct{}

// AsYaml is an error, as Run is.
func (Made) AsYaml() ([]byte, error) { return nil, errNone }

// Run is an error: airgap has no kustomize.
func (*Kustomizer) Run(_ any, _ string) (Made, error) { return Made{}, errNone }

var errNone = errors.New("airgap has no kustomize")
