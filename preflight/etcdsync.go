package preflight

import (
	"fmt"
	"time"

	"airgap.dev/airgap/preflight/facts"
)

var etcdSyncFail = Limit{
	Check: "etcd-fsync", Name: "fail", Unit: Elapsed, Default: always(int64(50 * time.Millisecond)),
	About: "Longest time for a small write with fdatasync on etcd's disk, for 99 of 100 writes. Default 50ms.",
}

var etcdSyncWarn = Limit{
	Check: "etcd-fsync", Name: "warn", Unit: Elapsed, Default: always(int64(10 * time.Millisecond)),
	About: "Time for a small write, for 99 of 100 writes, above which the check warns. Default 10ms, from etcd's documentation.",
}

var etcdSync = Check{
	ID: "etcd-fsync", Title: "etcd's disk is fast enough", Source: "etcd documentation: hardware, disks; replicatedhq/embedded-cluster",
	Breaks: "Under load etcd loses its leader repeatedly, and the API server stops responding meanwhile.",
	Role:   ControlPlane, Limits: []Limit{etcdSyncFail, etcdSyncWarn}, Run: judgeSync,
}

func judgeSync(f *facts.Facts, w *Want) Result {
	took, outcome := f.Asked.EtcdDisk, f.Asked.EtcdDiskOutcome
	switch {
	case !outcome.Done:
		return skipped(outcome.Skipped)
	case outcome.Failed != "":
		return Result{Status: Error, Found: "cannot measure the disk: " + outcome.Failed, Fix: "check the file system of " + facts.EtcdPath}
	}
	const fix = "put " + facts.EtcdPath + " on a dedicated SSD or NVMe disk that no other machine shares"
	found := fmt.Sprintf("99 of 100 small writes take at most %.1f ms", float64(took)/float64(time.Millisecond))
	longest, recommended := time.Duration(w.limit(etcdSyncFail)), time.Duration(w.limit(etcdSyncWarn))
	switch {
	case took >= longest:
		return Result{Fail, found, fmt.Sprintf("less than %s", longest), fix}
	case took >= recommended:
		return Result{Warn, found, fmt.Sprintf("less than %s", recommended), fix}
	default:
		return pass("%s", found)
	}
}
