package scenario

import (
	"context"

	"airgap.dev/airgap/e2e/lab"
)

// upkeep checks that the timers are active, that the unit of verify passes and fails correctly, and
// that the renewal has nothing to do. A drop-in adds the lab's --skip options to the unit.
func upkeep(ctx context.Context, e *Env, first, worker lab.Machine) error {
	const (
		metrics = "/var/lib/airgap/metrics/airgap-verify.prom"
		dropIn  = "/run/systemd/system/airgap-verify.service.d"
		isOff   = `{.report.units[?(@.name=="airgap-certs-renew.timer")].state}`
	)
	if err := e.Script(ctx, first,
		"for t in airgap-verify airgap-certs-renew; do systemctl is-enabled --quiet $t.timer && systemctl is-active --quiet $t.timer || exit 1; done",
		"mkdir -p "+dropIn+" && printf '[Service]\\nExecStart=\\nExecStart=/usr/bin/airgap verify "+LabSkips+" --timeout 90s --textfile "+metrics+"\\n' >"+dropIn+"/lab.conf && systemctl daemon-reload",
		"systemctl start airgap-verify.service",
		"grep -qx 'airgap_verify_ok 1' "+metrics+" && [ $(stat -c %a "+metrics+") = 644 ]",
		"journalctl --unit airgap-verify.service --output cat | grep -q 'Nodes are Ready'",
		"systemctl start airgap-certs-renew.service && journalctl --unit airgap-certs-renew.service --output cat | grep -q 'nothing was due'",
		"systemctl stop airgap-certs-renew.timer",
	); err != nil {
		return err
	}
	if err := awaitReport(ctx, e, first, first, isOff, `^inactive$`); err != nil {
		return err
	}
	if err := e.Script(ctx, first,
		"! systemctl start airgap-verify.service && systemctl is-failed --quiet airgap-verify.service && grep -qx 'airgap_verify_ok 0' "+metrics,
		"airgap status | grep -q 'drifted: .*upkeep'",
		"systemctl start airgap-certs-renew.timer",
		"rm -r "+dropIn+" && systemctl daemon-reload && systemctl reset-failed airgap-verify.service",
	); err != nil {
		return err
	}
	if err := awaitReport(ctx, e, first, first, isOff, `^active$`); err != nil {
		return err
	}
	return e.Script(ctx, worker, "systemctl is-active --quiet airgap-certs-renew.timer && ! systemctl is-active --quiet airgap-verify.timer")
}
