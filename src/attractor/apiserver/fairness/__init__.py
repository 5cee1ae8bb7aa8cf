"""API priority and fairness: whose request runs next, as FlowSchemas and PriorityLevelConfigurations say.

``configuration`` reads both kinds of object and tells to which flow of which schema a request belongs. ``dispatcher``
is the scheduler: priority levels with seats, queues for flows, fair order between them. ``estimates`` says how many
seats a request takes. All of it is pure: time comes in as a number, and nothing here waits; ``httpd.fairness`` drives.

Read ``dispatcher`` first.
"""
