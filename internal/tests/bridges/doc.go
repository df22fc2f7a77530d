// Package bridges runs a campaign through each bridge of examples/bridges to its peer, and kills
// campaignd, the bridge and the device in the middle of it, one after the other.
package bridges
