package verify

import "time"

// nothingSince asks also for what went wrong since a time, though it is well
// now. It judges what objects still show: a pod that was deleted tells nothing.
func nothingSince(since time.Time) rule {
	return rule{
		id: "since", title: "Nothing went wrong since the time that was asked for", watches: []kind{nodes, pods}, stays: true,
		judge: func(v view) []Finding {
			var findings []Finding
			for _, i := range v.incidents(since) {
				findings = append(findings, Finding{Object: i.object, Saw: i.saw, Want: "nothing since " + since.UTC().Format(time.DateTime) + " UTC", Since: i.at, Fix: i.fix})
			}
			return findings
		},
	}
}
