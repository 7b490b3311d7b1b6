package config

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/runtime"
)

// setDefaults lets each section set the defaults of missing fields.
func (c *Cluster) setDefaults() {
	c.Kubernetes.Default(c.Master().Address)
	c.GPU.Default()
	c.Network.Default()
	c.Runtime.Default(c.Kubernetes.Version)
	c.HostSettings.Default()
	c.Packages.Default()
	c.Addons.Default()
	c.Registry.Default()
	c.Sources.Default()
	if c.SSH != nil {
		c.SSH.Default()
	}
}

// validate lets each section judge itself; the nodes are judged here.
func (c *Cluster) validate() field.ErrorList {
	return append(c.validateBy(kubeadm.Config.Validate, runtime.Config.Validate), c.validateAddresses(field.NewPath("nodes"))...)
}

// validateStored takes overrides that an older airgap took.
func (c *Cluster) validateStored() field.ErrorList {
	return c.validateBy(kubeadm.Config.ValidateStored, runtime.Config.ValidateStored)
}

func (c *Cluster) validateBy(kubernetes func(kubeadm.Config, *field.Path) field.ErrorList, runtime func(runtime.Config, *field.Path) field.ErrorList) field.ErrorList {
	at := func(name string) *field.Path { return field.NewPath(name) }
	all := c.validateNodes(at("nodes"))
	all = append(all, c.validateSSH(at("ssh"))...)
	all = append(all, kubernetes(c.Kubernetes, at("kubernetes"))...)
	all = append(all, c.validateEndpoint(at("kubernetes").Child("controlPlaneEndpoint"))...)
	all = append(all, c.GPU.Validate(at("gpu"))...)
	all = append(all, c.Network.Validate(at("network"))...)
	all = append(all, c.validateSiteRanges(at("network").Child("siteRanges"))...)
	all = append(all, runtime(c.Runtime, at("runtime"))...)
	all = append(all, c.HostSettings.Validate(at("hostSettings"))...)
	all = append(all, c.Packages.Validate(at("packages"))...)
	all = append(all, c.Images.Validate(at("images"))...)
	all = append(all, c.Addons.Validate(at("addons"))...)
	all = append(all, c.validateNames(at("addons"))...)
	all = append(all, c.Registry.Validate(at("registry"))...)
	all = append(all, c.validatePorts(at("registry"), at("network"))...)
	all = append(all, c.Upgrade.Validate(at("upgrade"))...)
	all = append(all, c.Backup.Validate(at("backup"))...)
	all = append(all, c.Preflight.Validate(at("preflight"))...)
	all = append(all, c.Media.Validate(at("media"))...)
	return append(all, c.Sources.Validate(at("sources"))...)
}

// validateNames keeps add-ons off the name under which the lock and --update know
// the pod network.
func (c *Cluster) validateNames(addons *field.Path) field.ErrorList {
	var all field.ErrorList
	fetched := !cni.From(c.Network, cni.Cluster{}).Empty()
	for i, a := range c.Addons {
		if a.Name == c.Network.Plugin && fetched {
			all = append(all, field.Invalid(addons.Index(i).Child("name"), a.Name, "this is the pod network's name: call the add-on otherwise"))
		}
	}
	return all
}
