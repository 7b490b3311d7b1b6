package gpu

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const (
	// CDIUnit writes CDIFile at each boot, before the kubelet starts a pod.
	CDIUnit = "airgap-cdi.service"
	// CDIFile describes the host's GPUs to the runtimes (Container Device Interface). The
	// toolkit's nvidia-cdi-refresh.service writes the same file. With a second file of the same
	// device names, the runtimes would ignore both.
	CDIFile = "/var/run/cdi/nvidia.yaml"
	// pluginCDI matches the descriptions of the device plugin. They remain after its removal.
	pluginCDI = "/var/run/cdi/k8s.device-plugin.nvidia.com-*"
	cdiUndo   = undoDir + "/gpu-cdi.json"
)

//go:embed airgap-cdi.service airgap-mig.service airgap-persistenced.service
var units embed.FS

// Units returns the systemd units for airgap.rpm, by name.
func Units() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, name := range []string{CDIUnit, MIGUnit, OwnPersistenceUnit} {
		text, err := units.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[name] = text
	}
	return all, nil
}

// CDIStep describes the host's GPUs to the runtimes, now and at every boot, and checks that the
// description has every GPU on the PCI bus.
func CDIStep(s Setup) step.Step {
	d := description{s}
	return step.Step{
		Name: "gpu-cdi", Title: "Describe the GPUs to the runtime",
		Done: d.done,
		Plan: func(context.Context) ([]string, error) {
			return []string{"enable and start " + CDIUnit, "write " + CDIFile}, nil
		},
		Run:  d.write,
		Undo: d.removeDescription,
	}
}

// description is CDIStep on a host.
type description struct{ Setup }

// cdiRecord records whether a description existed before airgap's.
type cdiRecord struct {
	Before bool `json:"before"`
}

func (d description) done(ctx context.Context) (bool, error) {
	enabled, err := d.unitIs(ctx, "is-enabled", CDIUnit)
	if err != nil || !enabled {
		return false, err
	}
	if !d.has(strings.TrimPrefix(CDIFile, "/")) {
		return false, nil
	}
	return d.complete() == nil, nil // Run reports the missing GPUs
}

func (d description) write(ctx context.Context) error {
	if !d.has(strings.TrimPrefix(cdiUndo, "/")) {
		before := cdiRecord{Before: d.has(strings.TrimPrefix(CDIFile, "/"))}
		if err := host.WriteJSON(d.path(cdiUndo), before); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", CDIUnit}, {"restart", CDIUnit}} {
		if err := d.run(ctx, "systemctl", args...); err != nil {
			return d.explainUnit(ctx, CDIUnit, err)
		}
	}
	err := d.complete()
	if f, is := errors.AsType[*Failure](err); is {
		f.Log = d.kernelMessages(ctx) // a loaded driver may reject a GPU
		f.Next = cmp.Or(hintFor(f.Log), f.Next)
	}
	return err
}

// dropDescription removes the description before GPUs are divided differently, so that CDIStep is not
// done, also after an interruption. Before the first run of CDIStep the file is not airgap's.
func (s Setup) dropDescription() error {
	if !s.has(strings.TrimPrefix(cdiUndo, "/")) {
		return nil
	}
	return host.Remove(s.path(CDIFile))
}

// complete returns nil if the description has as many GPUs as the PCI bus.
func (d description) complete() error {
	cards, err := d.FreeGPUs()
	if err != nil {
		return err
	}
	if len(cards) == 0 {
		return &Failure{What: "describe the GPUs to the runtime", Err: errors.New("the PCI bus has no GPU for containers"), Next: "remove the role gpu from this node in airgap.yaml, or check its GPUs: lspci -d 10de:"}
	}
	text, err := fs.ReadFile(d.Host.FS(), strings.TrimPrefix(CDIFile, "/"))
	if err != nil {
		return err
	}
	described, err := nodesOf(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", CDIFile, err)
	}
	if len(described) == len(cards) {
		return nil
	}
	return &Failure{
		What: "describe the GPUs to the runtime",
		Err:  fmt.Errorf("%s has %d of the %d GPUs on the PCI bus: %s", CDIFile, len(described), len(cards), Summary(cards)),
		Next: "find the GPU that the driver does not support: nvidia-smi -L and dmesg; a GPU in MIG mode needs an instance",
	}
}

// nodesOf returns the device nodes of GPUs in a CDI specification: "/dev/nvidia0". It ignores the
// names of the devices.
func nodesOf(text []byte) (map[string]bool, error) {
	var spec struct {
		Devices []struct {
			ContainerEdits struct {
				DeviceNodes []struct {
					Path string `json:"path"`
				} `json:"deviceNodes"`
			} `json:"containerEdits"`
		} `json:"devices"`
	}
	if err := yaml.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	card := regexp.MustCompile(`^/dev/nvidia[0-9]+$`)
	nodes := map[string]bool{}
	for _, d := range spec.Devices {
		for _, node := range d.ContainerEdits.DeviceNodes {
			if card.MatchString(node.Path) {
				nodes[node.Path] = true
			}
		}
	}
	return nodes, nil
}

func (d description) removeDescription(ctx context.Context) error {
	if !d.has(strings.TrimPrefix(cdiUndo, "/")) {
		return nil
	}
	record, err := host.ReadJSON[cdiRecord](d.path(cdiUndo))
	if err != nil {
		return err
	}
	if err := d.run(ctx, "systemctl", "disable", "--now", CDIUnit); err != nil {
		return err
	}
	files, err := fs.Glob(d.Host.FS(), strings.TrimPrefix(pluginCDI, "/"))
	if err != nil {
		return err
	}
	if !record.Before {
		files = append(files, CDIFile)
	}
	for _, file := range files {
		if err := host.Remove(d.path(file)); err != nil {
			return err
		}
	}
	return host.Remove(d.path(cdiUndo))
}
