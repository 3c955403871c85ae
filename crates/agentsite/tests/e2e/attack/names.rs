//! Names: nobody takes over the name of another agent, or the tasks that were opened under it.
