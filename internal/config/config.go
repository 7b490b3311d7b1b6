// Package config reads airgap.yaml: the one file that drives every command.
//
// A file is judged in passes, and everything they find is reported together:
// credentials written inline, keys written twice, the JSON Schema made from the
// types (unknown fields, wrong types), and the semantic checks of the packages
// that own the sections. Problems carry file, line, column and field path.
//
// The sections' types live with the code that uses them; this package only
// joins them. It reads no other file and changes nothing.
package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/batches"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/media"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry"
)

// APIVersion and Kind stand at the top of every airgap.yaml.
const (
	APIVersion = "airgap.dev/v1alpha1"
	Kind       = "Cluster"
)

// Cluster is airgap.yaml.
type Cluster struct {
	APIVersion   string                  `yaml:"apiVersion" json:"apiVersion" jsonschema:"required,enum=airgap.dev/v1alpha1,description=Version of the file format"`
	Kind         string                  `yaml:"kind" json:"kind" jsonschema:"required,enum=Cluster,description=The value is always Cluster"`
	Name         string                  `yaml:"name" json:"name" jsonschema:"required,pattern=^[a-z0-9]([a-z0-9-]*[a-z0-9])?$,description=Name of the cluster and the bundle's directory"`
	Kubernetes   kubeadm.Config          `yaml:"kubernetes" json:"kubernetes" jsonschema:"required,description=Version and addresses of the cluster"`
	Nodes        []Node                  `yaml:"nodes" json:"nodes" jsonschema:"required,minItems=1,description=The servers"`
	NodeDefaults NodeDefaults            `yaml:"nodeDefaults" json:"nodeDefaults,omitzero" jsonschema:"description=Fields of every node that neither the node nor its group sets"`
	NodeGroups   map[string]NodeDefaults `yaml:"nodeGroups" json:"nodeGroups,omitempty" jsonschema:"description=Groups of nodes by name. Each has fields of every node that names it in nodes[].group"`
	SSH          *remote.Config          `yaml:"ssh" json:"ssh,omitempty" jsonschema:"description=SSH access for airgap install to the other servers. Without this section it prints the commands to run on each server"`
	GPU          gpu.Config              `yaml:"gpu" json:"gpu" jsonschema:"description=GPU driver and GPU sharing on nodes with the role gpu"`
	Network      cni.Config              `yaml:"network" json:"network" jsonschema:"description=Pod network"`
	Runtime      runtime.Config          `yaml:"runtime" json:"runtime" jsonschema:"description=Container runtime"`
	Packages     rpm.Config              `yaml:"packages" json:"packages" jsonschema:"required,description=OS packages and their repositories"`
	Images       bundle.Images           `yaml:"images" json:"images" jsonschema:"description=Images to include in addition to those of Kubernetes"`
	Addons       bundle.Addons           `yaml:"addons" json:"addons,omitempty" jsonschema:"description=Add-ons to install into the cluster: Helm charts and manifests with their images"`
	Registry     registry.Config         `yaml:"registry" json:"registry" jsonschema:"description=The registry on the control-plane hosts"`
	Upgrade      batches.Config          `yaml:"upgrade" json:"upgrade,omitzero" jsonschema:"description=Speed of airgap upgrade and airgap rollback"`
	Backup       backup.Config           `yaml:"backup" json:"backup" jsonschema:"description=Daily backups of the control plane"`
	Preflight    preflight.Config        `yaml:"preflight" json:"preflight" jsonschema:"description=Settings of this site for the checks before an installation"`
	Approval     Approval                `yaml:"approval" json:"approval,omitzero" jsonschema:"description=Approval of the bundle before the servers accept it"`
	Sources      fetch.Sources           `yaml:"sources" json:"sources" jsonschema:"description=Access of the connected host to upstream servers"`
	Media        media.Config            `yaml:"media" json:"media,omitzero" jsonschema:"description=The way of the bundle from the connected host to the servers"`

	HostSettings settings.HostSettings `yaml:"hostSettings" json:"hostSettings" jsonschema:"description=Host settings that airgap install may change"`

	origins []origin // of Nodes
}

// maxFile is the maximum size of an airgap.yaml: 5,000 nodes with all their fields have 2 MiB.
const maxFile = 16 << 20

// Load reads and validates the file at path. Relative paths in it start at its
// directory.
func Load(path string) (*Cluster, []byte, error) {
	data, err := host.ReadInput(path, maxFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	c, err := Parse(path, data)
	if err == nil {
		c.lieIn(filepath.Dir(path))
	}
	return c, data, err
}

// Parse judges data and fills in the defaults. Bad input gives Problems; file
// is the name they carry.
func Parse(file string, data []byte) (*Cluster, error) {
	return read(file, data, (*Cluster).validate)
}

// ParseStored reads the file of a bundle that a host already has. An older airgap
// accepted overrides that Parse refuses, and airgap must still manage its cluster.
func ParseStored(file string, data []byte) (*Cluster, error) {
	return read(file, data, (*Cluster).validateStored)
}

func read(file string, data []byte, validate func(*Cluster) field.ErrorList) (*Cluster, error) {
	doc, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	schema, err := Schema()
	if err != nil {
		return nil, err
	}
	problems := append(doc.credentials(), doc.duplicates()...)
	shape, err := doc.judge(schema)
	if err != nil {
		return nil, err
	}
	problems = append(problems, shape...)
	var c Cluster
	// Values with a wrong shape are left out, and the rest is still validated.
	if err := doc.root.Decode(&c); err != nil && len(problems) == 0 {
		return nil, syntax(file, err)
	}
	problems = append(problems, doc.semantic(c.expand(), problems)...)
	c.setDefaults()
	problems = append(problems, doc.semantic(validate(&c), problems)...)
	if len(problems) > 0 {
		return nil, problems.sorted()
	}
	return &c, nil
}

// GPUNodes are those with the role gpu.
func (c *Cluster) GPUNodes() []Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n Node) bool { return !n.Has(GPU) })
}

// Master is the first control-plane node.
func (c *Cluster) Master() Node {
	if all := c.ControlPlanes(); len(all) > 0 {
		return all[0]
	}
	return Node{}
}

// ControlPlanes are the control-plane nodes in the order of the file. Each has
// a registry.
func (c *Cluster) ControlPlanes() []Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n Node) bool { return !n.Has(ControlPlane) })
}

// Node is the node with that name.
func (c *Cluster) Node(name string) (Node, error) {
	var names []string
	for _, n := range c.Nodes {
		if n.Name == name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return Node{}, fmt.Errorf("find node %q: %w%s", name, errNoNode, advice.DidYouMean(name, names))
}

var errNoNode = errors.New("airgap.yaml has no node of that name")
