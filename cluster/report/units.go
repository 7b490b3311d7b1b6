package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/unitfile"
	"airgap.dev/airgap/verify/nodereport"
)

// plainService does not exist: systemd shows the values of a service without any setting for it.
const plainService = "airgap-without-settings.service"

// runners are the services that start containers.
func runners() []string { return []string{"kubelet.service", "containerd.service", "crio.service"} }

// units returns the states of the services, and the settings that take rights from those that start containers.
func (s Settings) units(ctx context.Context, h host.Host) ([]nodereport.Unit, error) {
	units, err := nodereport.Units(ctx, h, s.Units)
	if err != nil {
		return nil, err
	}
	names := []string{plainService}
	for _, u := range units {
		if slices.Contains(runners(), u.Name) {
			names = append(names, u.Name)
		}
	}
	if len(names) == 1 {
		return units, nil
	}
	shown, err := shownSettings(ctx, h, names)
	if err != nil {
		return nil, err
	}
	for i, u := range units {
		if shown[u.Name] == nil {
			continue
		}
		var found []string
		for _, r := range unitfile.ShownRestrictions(shown[u.Name], shown[plainService]) {
			found = append(found, r.Key+"="+shortened(r.Value)+": "+r.Why)
		}
		units[i].Restricted = limited(strings.Join(found, "; "))
	}
	return units, nil
}

// shortened keeps lists of system calls short.
func shortened(value string) string {
	const most = 80
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}

// shownSettings reads the effective settings of units, by the unit.
func shownSettings(ctx context.Context, h host.Host, names []string) (map[string]map[string]string, error) {
	args := append([]string{"show", "--property=Id", "--property=" + strings.Join(unitfile.ShownKeys(), ",")}, names...)
	out, err := h.Run(ctx, host.Cmd{Name: "systemctl", Args: args, Env: []string{"LC_ALL=C"}})
	if err != nil {
		return nil, fmt.Errorf("read the settings of units: %w", err)
	}
	all := map[string]map[string]string{}
	for block := range strings.SplitSeq(string(out), "\n\n") {
		values := map[string]string{}
		for line := range strings.Lines(block) {
			key, value, is := strings.Cut(strings.TrimSpace(line), "=")
			if is {
				values[key] = value
			}
		}
		all[values["Id"]] = values
	}
	if all[plainService] == nil || len(all) != len(names) {
		return nil, fmt.Errorf("read the settings of units: systemctl show returned %d of %d", len(all), len(names))
	}
	return all, nil
}
