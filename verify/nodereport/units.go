package nodereport

import (
	"context"
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// StatusText returns the status text of a service (sd_notify(3)), or "" if it does not run.
func StatusText(ctx context.Context, h host.Host, unit string) (string, error) {
	out, err := h.Run(ctx, host.Cmd{Name: "systemctl", Args: []string{"show", "--property=ActiveState", "--property=StatusText", unit}})
	if err != nil {
		return "", fmt.Errorf("read the status of %s: %w", unit, err)
	}
	properties := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		properties[name] = value
	}
	if properties["ActiveState"] != "active" { // systemd keeps the text of a stopped service
		return "", nil
	}
	return properties["StatusText"], nil
}

// Units returns the states of services, in the order of names. A service that is not installed is
// "inactive".
func Units(ctx context.Context, h host.Host, names []string) ([]Unit, error) {
	out, err := h.Run(ctx, host.Cmd{Name: "systemctl", Args: append([]string{"show", "--property=ActiveState"}, names...)})
	if err != nil {
		return nil, fmt.Errorf("read the states of units: %w", err)
	}
	var units []Unit
	for line := range strings.Lines(string(out)) {
		state, is := strings.CutPrefix(strings.TrimSpace(line), "ActiveState=")
		if is && len(units) < len(names) {
			units = append(units, Unit{Name: names[len(units)], State: state})
		}
	}
	if len(units) != len(names) {
		return nil, fmt.Errorf("read the states of units: systemctl show returned %d of %d", len(units), len(names))
	}
	return units, nil
}
