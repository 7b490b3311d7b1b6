package preflight

import (
	"fmt"
	"time"
)

var etcdSyncFail = Limit{
	Check: "etcd-fsync", Name: "fail", Unit: Elapsed, Default: always(int64(50 * time.Millisecond)),
	About: "Longest time that 99 of 100 small writes may take to be safe on etcd's disk. Default 50ms.",
}

var etcdSyncWarn = Limit{
	Check: "etcd-fsync", Name: "warn", Unit: Elapsed, Default: always(int64(10 * time.Millisecond)),
	About: "Time of a small write, for 99 of 100, above which there is a warning. Default 10ms, as etcd's documentation has it.",
}

var etcdSync = Check{
	ID: "etcd-fsync", Title: "etcd's disk is fast", Source: "etcd documentation: hardware, disks; replicatedhq/embedded-cluster",
	Breaks: "etcd loses its leader under load again and again, and the API server stands still with it.",
	Role:   ControlPlane, Limits: []Limit{etcdSyncFail, etcdSyncWarn}, Run: judgeSync,
}

func judgeSync(f *Facts, w *Want) Result {
	took, try := f.Asked.EtcdDisk, f.Asked.EtcdDiskTry
	switch {
	case !try.Made:
		return skipped(try.Left)
	case try.Failed != "":
		return Result{Status: Error, Found: "could not tell: " + try.Failed, Fix: "look at the file system of " + etcdPath}
	}
	const fix = "give " + etcdPath + " a disk of its own, SSD or NVMe, not shared with other machines"
	found := fmt.Sprintf("99 of 100 small writes are safe within %.1f ms", float64(took)/float64(time.Millisecond))
	least, enough := time.Duration(w.limit(etcdSyncFail)), time.Duration(w.limit(etcdSyncWarn))
	switch {
	case took >= least:
		return Result{Fail, found, fmt.Sprintf("less than %s", least), fix}
	case took >= enough:
		return Result{Warn, found, fmt.Sprintf("less than %s", enough), fix}
	default:
		return pass("%s", found)
	}
}
