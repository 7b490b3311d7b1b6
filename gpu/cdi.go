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
	// CDIFile names the host's cards for the runtimes (Container Device Interface).
	// The toolkit's own nvidia-cdi-refresh.service writes the same one: a second file
	// with the same names would make both of them void.
	CDIFile = "/var/run/cdi/nvidia.yaml"
	// pluginCDI are what the device plugin describes of its own, which stays when it goes.
	pluginCDI = "/var/run/cdi/k8s.device-plugin.nvidia.com-*"
	cdiUndo   = undoDir + "/gpu-cdi.json"
)

//go:embed airgap-cdi.service airgap-mig.service airgap-persistenced.service
var units embed.FS

// Units are the systemd units by their names, for airgap.rpm.
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

// CDIStep has the host's cards described for the runtimes, now and at every boot,
// and proves that the description has each card that is on the bus.
func CDIStep(s Setup) step.Step {
	d := description{s}
	return step.Step{
		Name: "gpu-cdi", Title: "Describe the GPUs to the runtime",
		Done: d.done,
		Plan: func(context.Context) ([]string, error) {
			return []string{"enable and start " + CDIUnit, "write " + CDIFile}, nil
		},
		Run:  d.write,
		Undo: d.withdraw,
	}
}

// description is a host whose cards the runtime is to know.
type description struct{ Setup }

// cdiRecord says whether there was a description before.
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
	return d.complete() == nil, nil // Run says what is missing
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
		f.Said = d.kernelSaid(ctx) // a driver may load and refuse a card
		f.Next = cmp.Or(nextAfter(f.Said), f.Next)
	}
	return err
}

// describeAnew removes the description before cards are divided otherwise: CDIStep is not
// done then, whatever stops in between. Before its first run the file is somebody else's.
func (s Setup) describeAnew() error {
	if !s.has(strings.TrimPrefix(cdiUndo, "/")) {
		return nil
	}
	return host.Remove(s.path(CDIFile))
}

// complete is nil when the description has as many cards as the bus.
func (d description) complete() error {
	cards, err := d.FreeCards()
	if err != nil {
		return err
	}
	if len(cards) == 0 {
		return &Failure{What: "describe the GPUs to the runtime", Err: errors.New("no GPU that containers can have is on the bus"), Next: "take the role gpu from this node in airgap.yaml, or look at its cards: lspci -d 10de:"}
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
		Err:  fmt.Errorf("%s has %d of the %d cards on the bus: %s", CDIFile, len(described), len(cards), Summary(cards)),
		Next: "nvidia-smi -L and dmesg say which card the driver does not drive; one in MIG mode needs an instance",
	}
}

// nodesOf are the device nodes of cards that a CDI specification gives out, each
// once, whatever it calls the devices: "/dev/nvidia0".
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

func (d description) withdraw(ctx context.Context) error {
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
