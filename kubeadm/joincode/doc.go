// Package joincode lets one host into a cluster as one node.
//
// A control-plane host makes a code for a node's name and role (IssueCode). The joining host shows
// it (Entry.Admit) and gets the node's certificate, which the approver signs only for that name,
// that role and that code; a control-plane host also gets the cluster's keys, sealed with the code
// (Ticket.Parcel). Nothing is sent to a cluster whose authority the code does not name.
package joincode
