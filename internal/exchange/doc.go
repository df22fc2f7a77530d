// Package exchange is how measurements come from other programs and go to them:
// a campaign as a table, and a CSV file of measurements as a request to take
// them over. What [Table.WriteCSV] writes, [Import] reads to the last bit.
package exchange
