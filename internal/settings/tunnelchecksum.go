package settings

import (
	"context"
	"fmt"
	"os"
	"regexp"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const (
	checksumRule = "/etc/udev/rules.d/80-airgap-tunnel-checksum.rules"
	checksumUndo = host.UndoDir + "/tunnel-checksum.json"
	// checksumFeature is the offload of a tunnel's interface. With it, the network card calculates the
	// checksums of the packets inside, which some hypervisors and cards do wrong.
	checksumFeature = "tx-checksum-ip-generic"
)

// TunnelChecksumStep lets the CPU calculate the checksums of packets in the pod network's tunnel, on a
// site that asks for it. The network plugin creates the interface at every boot and after some
// changes, so a rule of udev sets it each time. The link is "" for an undo.
func TunnelChecksumStep(m host.Machine, link string) step.Step {
	c := tunnelChecksum{m, link}
	return step.Step{
		Name: "tunnel-checksum", Title: "Let the CPU calculate the tunnel's checksums",
		Done: c.done, Plan: c.plan, Run: c.run, Undo: c.undo,
	}
}

type tunnelChecksum struct {
	m    host.Machine
	link string
}

// checksumRecord is the rule from before, and the interface with the setting.
type checksumRecord struct {
	Before host.Kept `json:"before"`
	Link   string    `json:"link"`
}

func (c tunnelChecksum) text() []byte {
	return fmt.Appendf(nil, "# Written by airgap: hostSettings.tunnelChecksum is software.\n"+
		"ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"%[1]s\", RUN+=\"/usr/sbin/ethtool --offload %[1]s %[2]s off\"\n", c.link, checksumFeature)
}

func (c tunnelChecksum) done(ctx context.Context) (bool, error) {
	if same, err := host.FileMatches(c.m.Path(checksumRule), c.text(), 0o644); err != nil || !same || !c.exists(c.link) {
		return same, err
	}
	out, err := c.m.Host.Run(ctx, host.Cmd{Name: "ethtool", Args: []string{"--show-features", c.link}})
	if err != nil {
		return false, fmt.Errorf("read the offload settings of %s: %w", c.link, err)
	}
	return checksumOff.Match(out), nil
}

var checksumOff = regexp.MustCompile(`(?m)^\s*` + checksumFeature + `: off`)

// exists reports whether the network plugin has created the interface.
func (c tunnelChecksum) exists(link string) bool {
	_, err := os.Stat(c.m.Path("/sys/class/net/" + link))
	return link != "" && err == nil
}

func (c tunnelChecksum) plan(context.Context) ([]string, error) {
	changes, err := host.PlanFiles(map[string][]byte{c.m.Path(checksumRule): c.text()}, 0o644)
	if c.exists(c.link) {
		changes = append(changes, fmt.Sprintf("turn %s off on %s", checksumFeature, c.link))
	}
	return changes, err
}

func (c tunnelChecksum) run(ctx context.Context) error {
	record, err := host.ReadJSON[checksumRecord](c.m.Path(checksumUndo))
	if err != nil {
		return err
	}
	if !c.m.Recorded(checksumUndo) {
		if record.Before, err = c.m.Keep(checksumRule); err != nil {
			return err
		}
	}
	record.Link = c.link
	if err := host.WriteJSON(c.m.Path(checksumUndo), record); err != nil {
		return err
	}
	if err := host.WriteFile(c.m.Path(checksumRule), c.text(), 0o644); err != nil {
		return err
	}
	return c.apply(ctx, c.link, "off")
}

// apply makes udev read the rules, and sets an existing interface.
func (c tunnelChecksum) apply(ctx context.Context, link, value string) error {
	if err := c.m.Run(ctx, "udevadm", "control", "--reload"); err != nil {
		return fmt.Errorf("reload the rules of udev: %w", err)
	}
	if !c.exists(link) {
		return nil
	}
	if err := c.m.Run(ctx, "ethtool", "--offload", link, checksumFeature, value); err != nil {
		return fmt.Errorf("turn %s %s on %s: %w", checksumFeature, value, link, err)
	}
	return nil
}

func (c tunnelChecksum) undo(ctx context.Context) error {
	if !c.m.Recorded(checksumUndo) {
		return nil
	}
	record, err := host.ReadJSON[checksumRecord](c.m.Path(checksumUndo))
	if err != nil {
		return err
	}
	if err := c.m.RestoreKept(checksumRule, record.Before); err != nil {
		return err
	}
	if err := c.apply(ctx, record.Link, "on"); err != nil {
		return err
	}
	return host.Remove(c.m.Path(checksumUndo))
}
