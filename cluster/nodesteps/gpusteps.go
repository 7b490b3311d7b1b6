package nodesteps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/kube"
)

// beforeDriver has the cards free for NVIDIA's driver. It comes before everything
// that takes long: it may end with the wish for a reboot.
func beforeDriver(s *site.Site) ([]step.Step, error) {
	cards := gpu.Setup{Host: s.Machine.Host, Root: s.Machine.Root}
	switch {
	case !s.Node.Has(config.GPU) && cards.WasSetUp():
		// A part of the setup would go, and the rest would offer GPUs that no pod can use.
		return nil, advice.Add(errors.New("airgap.yaml no longer gives this node the role gpu, and its GPUs are set up"), "add the role again; or run airgap reset on the node and join it again")
	case !s.Node.Has(config.GPU) || s.Config.GPU.Source == gpu.Site:
		return nil, nil
	}
	return []step.Step{gpu.NouveauStep(cards)}, nil
}

// driverSteps load the driver from packages or NVIDIA's installer, and configure the runtime for
// the GPUs before it starts.
func driverSteps(s *site.Site, from Source, p ui.Progress) ([]step.Step, error) {
	if !s.Node.Has(config.GPU) {
		return nil, nil
	}
	cards, err := GPUSetup(s)
	cards.Progress = p
	var steps []step.Step
	if s.Config.GPU.Source == gpu.Runfile {
		steps = append(steps, gpu.RunfileStep(cards, func(ctx context.Context) (io.ReadCloser, error) {
			return from(ctx, "files/"+s.Config.GPU.InstallerFile())
		}))
	}
	return append(steps,
		driverStep(s, cards),
		gpu.MIGStep(gpu.MIG{Setup: cards, Profiles: s.Config.GPU.MIG.Profiles, Cards: dividedCards, Users: func(ctx context.Context) ([]string, error) { return cardUsers(ctx, s) }}),
		gpu.CDIStep(cards),
		gpu.RuntimeConfigStep(cards, s.Config.Runtime.Runc())), err
}

// GPUSetup returns the GPU setup of this host with the driver of the bundle. The driver must
// support the current GPUs of the host.
func GPUSetup(s *site.Site) (gpu.Setup, error) {
	cards := gpu.Setup{Host: s.Machine.Host, Root: s.Machine.Root}
	devices, err := host.PCIDevices(s.Machine.Host.FS(), gpu.Vendor)
	if err != nil || s.Config.GPU.Source == gpu.Site {
		return cards, err
	}
	found := gpu.Detect(devices)
	choice, some, err := s.Config.GPU.Choose(found)
	if err != nil {
		return cards, err
	}
	if !some {
		return cards, advice.Add(gpu.ErrNoGPU, "take the role gpu from this node, or give the host its cards back; then make the bundle again")
	}
	cards.Version = lockedDriver(s)
	if (gpu.Driver{Version: cards.Version}).Branch() != choice.Branch {
		return cards, advice.Add(fmt.Errorf("the cards of this host want driver %s, and the bundle has %q for it", choice, cards.Version),
			"survey this host again and make the bundle with its facts: its cards are others than they were")
	}
	cards.Driver, cards.Fabric, cards.Hidden = choice, gpu.HasSwitches(found), gpu.HasHiddenSwitches(found)
	return cards, nil
}

// lockedDriver is the version that the bundle has for this host; "" where it has
// none, or the site sees to it.
func lockedDriver(s *site.Site) string {
	switch s.Config.GPU.Source {
	case gpu.Site:
		return ""
	case gpu.Runfile:
		return s.Config.GPU.InstallerVersion()
	default:
		return s.Index.Lock.Drivers[s.Node.Name]
	}
}

// LabelSteps say on the Node that it has cards.
func LabelSteps(s *site.Site) []step.Step {
	if !s.Node.Has(config.GPU) {
		return nil
	}
	return []step.Step{gpu.LabelStep(s.Node.Name, func() (*rest.Config, error) { return kube.RESTConfig(s.Machine.Machine, kube.KubeletConf) })}
}

// DeviceSteps returns the steps of the first host: the device plugin, if any node has
// GPUs, and the label of this node.
func DeviceSteps(s *site.Site) []step.Step {
	if len(s.Config.GPUNodes()) == 0 {
		return nil
	}
	plugin := func() (gpu.Plugin, error) {
		image, err := devicePlugin(s.Index.Lock)
		return gpu.Plugin{Image: image, MIGStrategy: s.Config.GPU.MIG.Strategy, TimeSlices: s.Config.GPU.TimeSlices}, err
	}
	return append(LabelSteps(s), gpu.PluginStep(plugin, func() (*rest.Config, error) { return kube.RESTConfig(s.Machine.Machine, kube.AdminConf) }))
}

// devicePlugin is the image of NVIDIA's device plugin in the lock, by tag and by digest.
func devicePlugin(l bundle.Lock) (string, error) {
	names := l.ImagesFor(bundle.GPUList)
	for _, i := range l.Images {
		if slices.Contains(names, i.Name) {
			return i.Name + "@" + i.Digest, nil
		}
	}
	return "", advice.Add(errors.New("the bundle has no image of the device plugin"), "make it again from this airgap.yaml")
}

// dividedCards are this host's cards and their parts, as NVIDIA's library has them.
func dividedCards(ctx context.Context) ([]gpu.Divided, error) {
	said, err := nvml.Query(ctx, host.Local{})
	if err != nil {
		return nil, err
	}
	var all []gpu.Divided
	for _, c := range said.GPUs {
		d := gpu.Divided{GPU: fmt.Sprintf("%d (%s)", c.Index, c.Name), On: c.MIG != nil && c.MIG.Current}
		if d.On {
			for _, part := range c.MIG.Instances {
				profile := gpu.ProfileOf(part.Name)
				if profile == "" {
					return nil, errors.New("ask for the parts of the cards: airgap-nvml has to run for that; nvidia-smi does not name them")
				}
				d.Profiles = append(d.Profiles, profile)
			}
		}
		all = append(all, d)
	}
	return all, nil
}

// cardUsers are the pods of this node that have cards; none before it is a node.
func cardUsers(ctx context.Context, s *site.Site) ([]string, error) {
	config, err := kube.RESTConfig(s.Machine.Machine, kube.KubeletConf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + s.Node.Name})
	if err != nil {
		return nil, fmt.Errorf("ask which pods have cards: %w", err)
	}
	var users []string
	for _, p := range pods.Items {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && gpu.RequestsGPU(p.Spec) {
			users = append(users, "pod "+p.Namespace+"/"+p.Name)
		}
	}
	return users, nil
}
