package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// logScript prints the logs that are useful after a failure as one tar archive, without
// the files that a server does not have.
const logScript = `
dir=$(mktemp -d); cd "$dir"
journalctl --no-pager -o short-precise >journal.log
for u in containerd crio kubelet airgap; do
	journalctl --no-pager -o short-precise -u "$u*" >"$u.log"
done
systemctl list-units --all --no-pager >units.txt
{ ip addr; ip route; nft list ruleset; } >network.txt 2>&1
ps axf >processes.txt
rpm -qa >packages.txt
for f in /var/log/pods /var/log/dnf.log /var/log/airgap /etc/containerd /etc/crio /etc/airgap/crio /etc/kubernetes/manifests; do
	if [ -e "$f" ]; then cp -aL --parents "$f" . ; fi
done
find /var/lib/airgap -maxdepth 2 -size -4M \( -name '*journal*' -o -name '*.log' \) -exec cp --parents {} . \; 2>/dev/null
tar cf - .; rm -rf "$dir"
`

// saveLogs copies a machine's logs to dir. logScript ignores errors, because it runs after
// a failure.
func saveLogs(ctx context.Context, m Machine, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	archive := filepath.Join(dir, "logs.tar")
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := m.Exec(ctx, Cmd{Args: []string{"sh", "-c", logScript}, Stdout: f}); err != nil {
		return fmt.Errorf("save the logs of %s: %w", m.Name(), err)
	}
	if _, err := outer(ctx, "", "tar", "xf", archive, "-C", dir); err != nil {
		return err
	}
	return os.Remove(archive)
}

// consoleLog is the file with the boot messages, in a machine's directory. It exists even
// if the machine did not boot.
const consoleLog = "console.log"

func saveConsole(machine, dir string) error {
	data, err := os.ReadFile(filepath.Join(machine, consoleLog))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, consoleLog), data, 0o644))
}
