package verify

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/nodestate"
)

// retriesWithin is longer than the longest backoff of the Job controller, which is ten minutes.
const retriesWithin = 12 * time.Minute

// jobsDone reads the status of Jobs, not their pods: a Job that failed may have no pods left, for
// example after its deadline, or if its pods restart in place. The rule is evaluated periodically,
// because a missing retry sends no event.
func jobsDone(judged func(namespace string) bool) rule {
	return rule{
		id: "jobs", title: "Jobs are running or complete", watches: []kind{jobs, pods}, also: []kind{leases}, every: 2 * time.Second,
		judge: func(v view) []Finding { return judgeJobs(v, judged) },
	}
}

func judgeJobs(v view, judged func(namespace string) bool) []Finding {
	var findings []Finding
	list := all[*keptJob](v, jobs)
	done := lastDone(list)
	for _, j := range list {
		if saw := j.trouble(v); saw != "" && judged(j.namespace) && (j.schedule == "" || !done[j.schedule].After(j.created)) {
			findings = append(findings, Finding{
				Object: j.title("Job"), Saw: saw, Want: "complete or running",
				Fix: fmt.Sprintf("kubectl -n %[1]s describe job %[2]s; kubectl -n %[1]s logs job/%[2]s --all-containers; "+
					"after the repair, run the Job again or delete it: kubectl -n %[1]s delete job %[2]s", j.namespace, j.name),
			})
		}
	}
	return findings
}

// lastDone returns, by CronJob, the creation time of its newest Job that succeeded. Earlier
// failures do not count.
func lastDone(list []*keptJob) map[string]time.Time {
	last := map[string]time.Time{}
	for _, j := range list {
		if j.complete && j.created.After(last[j.schedule]) {
			last[j.schedule] = j.created
		}
	}
	return last
}

// keptJob has the used fields of a Job.
type keptJob struct {
	objectMeta

	uid      string
	schedule string // UID of its CronJob, or ""
	cron     string // name of its CronJob
	created  time.Time
	deletion *deletion
	failed   string // why it is not retried; "": it is
	complete bool
	idle     bool // it should have a pod and has none
	tried    bool // it had a pod
}

func keepJob(o *batchv1.Job) *keptJob {
	kept := &keptJob{
		objectMeta: metaOf(o.ObjectMeta), uid: string(o.UID), created: o.CreationTimestamp.Time, deletion: deletionOf(o.ObjectMeta),
		complete: jobCondition(o, batchv1.JobComplete) != nil, idle: idle(o), tried: o.Status.Failed > 0 || o.Status.Succeeded > 0,
	}
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.Kind == "CronJob" {
		kept.schedule, kept.cron = string(owner.UID), owner.Name
	}
	failed := jobCondition(o, batchv1.JobFailed)
	if failed == nil {
		failed = jobCondition(o, batchv1.JobFailureTarget) // its pods are still terminating
	}
	switch indexes := o.Status.FailedIndexes; {
	case failed != nil:
		kept.failed = "failed: " + nodestate.Because(failed.Reason, failed.Message)
	case indexes != nil && *indexes != "" && !kept.complete:
		kept.failed = "it continues, but does not retry its failed indexes " + *indexes
	}
	return kept
}

func jobCondition(o *batchv1.Job, of batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range o.Status.Conditions {
		if c.Type == of && c.Status == corev1.ConditionTrue {
			return &o.Status.Conditions[i]
		}
	}
	return nil
}

// idle reports whether a Job should have a pod and has none. A Job needs no pod if it is
// suspended, has a parallelism of 0, or is managed by another controller.
func idle(o *batchv1.Job) bool {
	held := o.Spec.Suspend != nil && *o.Spec.Suspend || o.Spec.Parallelism != nil && *o.Spec.Parallelism == 0
	foreign := o.Spec.ManagedBy != nil && *o.Spec.ManagedBy != batchv1.JobControllerName
	ended := jobCondition(o, batchv1.JobComplete) != nil || jobCondition(o, batchv1.JobSuccessCriteriaMet) != nil
	return !held && !foreign && !ended && o.Status.Active == 0 && (o.Status.Terminating == nil || *o.Status.Terminating == 0)
}

func (j *keptJob) trouble(v view) string {
	switch {
	case j.deletion != nil:
		return ""
	case j.failed != "" || !j.idle:
		return j.failed
	case !j.tried:
		return "it has no pod"
	}
	last := v.lastEnd(j.uid)
	if last.IsZero() || v.seenUntil(jobs, pods).Sub(last) < retriesWithin {
		return ""
	}
	return "it has no pod, and its last pod ended at " + last.UTC().Format(time.RFC3339)
}

// lastEnd returns when the newest pod of an owner failed, by the clock of this computer if the
// clock of the host is known; zero if none failed.
func (v view) lastEnd(owner string) time.Time {
	var last time.Time
	for _, p := range by[*keptPod](v, pods, byOwner, owner) {
		if p.rare != nil && !p.rare.over.IsZero() {
			over, _ := v.localTime(leaseOf(p.node), p.rare.over)
			last = later(last, over)
		}
	}
	return last
}
