package preflight

import (
	"fmt"
	"strconv"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var filesWarn = Limit{
	Check: "limits", Name: "filesWarn", Unit: Count, Default: always(65536),
	About: "Open files of a service below which the check warns. Default 65536.",
}

var processesWarn = Limit{
	Check: "limits", Name: "processesWarn", Unit: Count, Default: always(65536),
	About: "Processes and threads of the host below which the check warns. Default 65536.",
}

var limits = Check{
	ID: "limits", Title: "File and process limits are high enough", Source: "containerd and systemd documentation: LimitNOFILE, kernel.pid_max",
	Breaks: "Programs with many connections fail with \"too many open files\", and pods cannot start threads.",
	Limits: []Limit{filesWarn, processesWarn}, Needs: []string{"manager", "sysctls"}, Run: judgeLimits,
}

func judgeLimits(f *facts.Facts, w *Want) Result {
	var low, fix []string
	if n, enough := f.Manager.OpenFiles, w.limit(filesWarn); n > 0 && n < enough {
		low = append(low, fmt.Sprintf("%d open files for a service", n))
		fix = append(fix, fmt.Sprintf("DefaultLimitNOFILE=1024:%d in /etc/systemd/system.conf.d/, then systemctl daemon-reexec", max(enough, 524288)))
	}
	for _, name := range []string{"kernel.pid_max", "kernel.threads-max"} {
		s, enough := f.Sysctl(name), w.limit(processesWarn)
		now, errNow := strconv.ParseInt(s.Value, 10, 64)
		boot, errBoot := strconv.ParseInt(s.Boot, 10, 64)
		switch {
		case errBoot == nil && boot < enough:
			low = append(low, s.Setting()+" at every boot")
			fix = append(fix, fmt.Sprintf("%s = %d or more in %s", name, enough, s.File))
		case errNow == nil && now < enough:
			low = append(low, fmt.Sprintf("%s = %d", name, now))
			fix = append(fix, fmt.Sprintf("%s = %d or more in /etc/sysctl.d/", name, enough))
		}
	}
	if len(low) > 0 {
		return Result{Warn, strings.Join(low, ", "), "higher limits", "set " + strings.Join(fix, "; set ")}
	}
	return pass("%s open files, %s processes", f.Manager.OpenFileLimit(), f.Sysctl("kernel.pid_max").Value)
}
