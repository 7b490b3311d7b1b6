package backup

import "embed"

// Timer makes a backup every day, with the service of the same name.
const (
	Timer   = "airgap-backup.timer"
	service = "airgap-backup.service"
)

//go:embed airgap-backup.service airgap-backup.timer
var units embed.FS

// Units are the systemd units by their names, for airgap.rpm.
func Units() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, name := range []string{Timer, service} {
		text, err := units.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[name] = text
	}
	return all, nil
}
